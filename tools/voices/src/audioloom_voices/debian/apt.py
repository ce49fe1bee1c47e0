"""Runs apt-get in a folder of its own, so that nothing on the machine is altered.

The machine's sources, keys and proxy settings are used; its lists, caches, locks and hooks are not.
Neither root nor an installed package comes into it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from audioloom_voices.errors import (
    NotVerified,
    PackageUnknown,
    RegistrySilent,
    ToolMissing,
)

_LIMIT_S: Final = 600
_NOT_VERIFIED: Final = ("Hash Sum mismatch", "unexpected size", "is not signed", "GPG error")
_NO_LISTS: Final = ("Failed to fetch", "have a Release file", "has a Release file")
_UNKNOWN: Final = ("Unable to locate package", "has no installation candidate", "Can't select")


def configuration(work: Path, sources: Path | None) -> str:
    """Return the text of an apt.conf that keeps everything apt writes below `work`.

    Args:
        work: an existing folder.
        sources: an apt sources file to use instead of the machine's.
    """
    lines = [
        f'Dir::State "{work}/state";',
        f'Dir::State::status "{work}/state/status";',
        f'Dir::Cache "{work}/cache";',
        f'Dir::Log "{work}/log";',
        'APT::Sandbox::User "root";',  # else apt gives up root for a user who may not write here
        'Acquire::Languages "none";',
        'Acquire::Retries "2";',
        'Acquire::http::Timeout "20";',
        'Acquire::https::Timeout "20";',
        'Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";',
        # The machine's hooks clean its caches and tell its desktop: not about this.
        *(f"#clear APT::Update::{hook};" for hook in ("Pre-Invoke", "Post-Invoke")),
        *(f"#clear APT::Update::Post-Invoke-{when};" for when in ("Success", "Stats")),
    ]
    if sources is not None:
        lines.append(f'Dir::Etc::sourcelist "{sources.absolute()}";')
        lines.append('Dir::Etc::sourceparts "-";')
    return "\n".join([*lines, ""])


def download(packages: list[str], work: Path, sources: Path | None = None) -> Mapping[str, Path]:
    """Download the newest of each package into `work`; return where each lies.

    apt checks the signature of the registry's lists and the checksums of what it downloads.

    Raises:
        ToolMissing: there is no apt-get here.
        RegistrySilent, PackageUnknown, NotVerified: see each; the text ends in apt's own words.
    """
    for folder in ("state/lists/partial", "cache/archives/partial", "log", "debs"):
        (work / folder).mkdir(parents=True)
    (work / "state" / "status").touch()
    (work / "apt.conf").write_text(configuration(work, sources), encoding="utf-8")
    update = _apt_get(work, "update")
    fetch = _apt_get(work, "download", *packages)
    if fetch.returncode != 0:
        _explain(packages, update, fetch)
    found = {path.name.partition("_")[0]: path for path in (work / "debs").glob("*.deb")}
    missing = [package for package in packages if package not in found]
    if missing:
        raise RegistrySilent(
            f"expected apt-get to download {', '.join(missing)}, found nothing; "
            f"{_last_words(fetch)}"
        )
    return found


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program in `folder` with plain English messages, and return what it said.

    Raises:
        ToolMissing: it is not on the PATH.
        RegistrySilent: it took more than ten minutes.
    """
    if shutil.which(command[0]) is None:
        raise ToolMissing(
            f"expected the program {command[0]} on the PATH, found none; "
            "this works on Debian, Ubuntu and their relatives only"
        )
    try:
        return subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_LIMIT_S,
        )
    except subprocess.TimeoutExpired as error:
        raise RegistrySilent(f"{' '.join(command[:2])} had not ended after {_LIMIT_S} s") from error


def _apt_get(work: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run(["apt-get", f"--config-file={work / 'apt.conf'}", *arguments], work / "debs")


def _explain(
    packages: list[str],
    update: subprocess.CompletedProcess[str],
    fetch: subprocess.CompletedProcess[str],
) -> None:
    wanted = ", ".join(packages)
    both = update.stderr + fetch.stderr
    if any(sign in both for sign in _NOT_VERIFIED):
        raise NotVerified(
            f"expected signed lists and whole packages ({wanted}), found others; "
            f"try again later or look at apt's sources; {_last_words(update, fetch)}"
        )
    # `update` can end in 0 even when lists did not arrive, and then every package is unknown.
    has_lists = not any(sign in update.stderr for sign in _NO_LISTS)
    if has_lists and any(sign in fetch.stderr for sign in _UNKNOWN):
        raise PackageUnknown(
            f"expected {wanted} in apt's sources, found none; add Debian's main (Ubuntu: universe) "
            f"to the sources, or name a sources file; {_last_words(fetch)}"
        )
    raise RegistrySilent(
        f"the package registry does not answer ({wanted}); try again later or with another "
        f"sources file; {_last_words(update, fetch)}"
    )


def _last_words(*processes: subprocess.CompletedProcess[str]) -> str:
    lines = [line.strip() for process in processes for line in process.stderr.splitlines()]
    said = [line for line in lines if line.startswith(("E:", "W:", "Err:"))][:3]
    return "apt says: " + (" | ".join(said)[:600] or "nothing")
