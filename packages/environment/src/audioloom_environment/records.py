"""Read the `RECORD`s of installed distributions, for a digest without reading all files.

A file counts as unchanged from its RECORD while its size agrees and it was not touched since. Any
other file is read. Packing compares every file with its digest anyway.
"""

import base64
import csv
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from email.parser import HeaderParser
from pathlib import Path, PurePosixPath

#: Files of the installation: they name this machine, or change every time.
PERSONAL = ("INSTALLER", "RECORD", "REQUESTED", "direct_url.json", "uv_build.json", "uv_cache.json")


@dataclass(frozen=True)
class Claim:
    """The entry of a file in a RECORD: SHA-256 in hex, bytes, and the RECORD's time (ns)."""

    sha256: str
    size: int
    said_ns: int


@dataclass(frozen=True)
class Distribution:
    """An installed distribution.

    Attributes:
        name: canonical: `audioloom-audio`.
        version: its version.
        metadata: the name of its folder in site-packages.
        editable: the folder it is installed from by reference, or None.
        files: paths relative to site-packages, with what is claimed of them, if anything.
    """

    name: str
    version: str
    metadata: str
    editable: str | None
    files: Mapping[str, Claim | None] = field(repr=False)


def read_distributions(site_packages: Path) -> Iterator[Distribution]:
    """Return the distributions in a folder, by name."""
    found = [_read(folder) for folder in site_packages.glob("*.dist-info") if folder.is_dir()]
    yield from sorted(found, key=lambda distribution: distribution.name)


def canonical(name: str) -> str:
    """Return the canonical spelling of a distribution's name."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _read(folder: Path) -> Distribution:
    name, version = folder.name.removesuffix(".dist-info").rpartition("-")[::2]
    metadata = folder / "METADATA"
    if metadata.is_file():
        header = HeaderParser().parsestr(metadata.read_text("utf-8", "replace"), headersonly=True)
        name, version = header.get("Name", name), header.get("Version", version)
    return Distribution(
        canonical(name), version, folder.name, _editable(folder), _claims(folder / "RECORD")
    )


def _editable(folder: Path) -> str | None:
    try:
        origin = json.loads((folder / "direct_url.json").read_bytes())
        editable = origin.get("dir_info", {}).get("editable", False)
        return str(origin.get("url", "")) if editable else None
    except (OSError, ValueError, AttributeError):
        return None


def _claims(record: Path) -> dict[str, Claim | None]:
    try:
        said_ns = record.stat().st_mtime_ns
        with record.open(newline="", encoding="utf-8") as lines:
            rows = [row for row in csv.reader(lines) if row and row[0]]
    except (OSError, ValueError, csv.Error):
        return {}
    return {str(PurePosixPath(row[0])): _claim(row, said_ns) for row in rows}


def _claim(row: list[str], said_ns: int) -> Claim | None:
    if len(row) < 3 or not row[1].startswith("sha256=") or not row[2].isdigit():  # noqa: PLR2004
        return None
    digest = row[1].removeprefix("sha256=")
    try:
        sha256 = base64.urlsafe_b64decode(digest + "=" * (-len(digest) % 4)).hex()
    except ValueError:
        return None
    return Claim(sha256, int(row[2]), said_ns)
