"""Keeps the downloaded packages in a cache, so that only the first run needs the registry."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from audioloom_voices.debian.apt import download


def default_cache() -> Path:
    """Return the folder for downloads: `audioloom/debian-voices` in the user's cache."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # The XDG specification has relative values ignored.
    root = base if base.is_absolute() else Path.home() / ".cache"
    return root / "audioloom" / "debian-voices"


def fetch(packages: Iterable[str], cache: Path, sources: Path | None = None) -> Mapping[str, Path]:
    """Return a verified .deb of each package, from the cache or else from the registry.

    A cached package is used if its checksum is still the one it had when apt had verified it.

    Raises:
        ToolMissing, RegistrySilent, PackageUnknown, NotVerified: see `apt.download`.
    """
    wanted = {package: cache / f"{package}.deb" for package in packages}
    missing = [package for package, path in wanted.items() if not _is_whole(path)]
    if missing:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache, prefix=".apt-") as work:
            for package, path in download(missing, Path(work), sources).items():
                if package in wanted:
                    _checksum_file(wanted[package]).write_text(sha256(path) + "\n")
                    path.replace(wanted[package])
    return wanted


def sha256(path: Path) -> str:
    """Return a file's SHA-256 as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _is_whole(path: Path) -> bool:
    checksum = _checksum_file(path)
    return path.is_file() and checksum.is_file() and checksum.read_text().strip() == sha256(path)


def _checksum_file(path: Path) -> Path:
    return path.with_suffix(".deb.sha256")
