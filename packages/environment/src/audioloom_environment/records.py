"""Read the `RECORD`s of installed distributions, for a digest without reading all files.

A file counts as unchanged from its RECORD while its size agrees and it was not touched since. Any
other file is read. Packing compares every file with its digest anyway.
"""

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackagePath, PathDistribution
from pathlib import Path


@dataclass(frozen=True)
class Claim:
    """The entry of a file in a RECORD: SHA-256 in hex, bytes, and the RECORD's time (ns)."""

    sha256: str
    size: int
    said_ns: int


@dataclass(frozen=True)
class Distribution:
    """An installed distribution."""

    name: str
    """Canonical: `audioloom-audio`."""
    version: str
    metadata: str
    """The name of its folder in site-packages."""
    editable: bool
    files: Mapping[str, Claim | None] = field(repr=False)
    """Paths relative to site-packages, with what is claimed of them, if anything."""


def read_distributions(site_packages: Path) -> list[Distribution]:
    """Return the distributions in a folder, by name."""
    found = [_read(metadata.parent) for metadata in site_packages.glob("*.dist-info/METADATA")]
    return sorted(found, key=lambda distribution: distribution.name)


def canonical(name: str) -> str:
    """Return the canonical spelling of a distribution's name."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _read(folder: Path) -> Distribution:
    found = PathDistribution(folder)
    origin = json.loads(found.read_text("direct_url.json") or "{}")
    record = folder / "RECORD"
    said_ns = record.stat().st_mtime_ns if record.exists() else 0
    return Distribution(
        canonical(found.name),
        found.version,
        folder.name,
        origin.get("dir_info", {}).get("editable", False),
        {str(file): _claim(file, said_ns) for file in found.files or ()},
    )


def _claim(file: PackagePath, said_ns: int) -> Claim | None:
    if file.hash is None or file.hash.mode != "sha256" or file.size is None:
        return None
    sha256 = base64.urlsafe_b64decode(file.hash.value + "==").hex()  # RECORD leaves the "=" out
    return Claim(sha256, file.size, said_ns)
