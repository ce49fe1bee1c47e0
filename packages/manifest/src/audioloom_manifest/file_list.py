"""The list of data files beside a manifest, and whether the files are what it says."""

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import pairwise
from typing import Literal

from audioloom_storage import Location, TooLarge, open_read, read_bytes
from pydantic import ValidationError

from audioloom_manifest.canonical import canonical_bytes, parse_json
from audioloom_manifest.checksum import Checksums
from audioloom_manifest.envelope import FileEntry, FilesRef, files_name
from audioloom_manifest.errors import MalformedManifest, ManifestError, WrongChecksum
from audioloom_manifest.late_files import Patience

MOST_LIST_BYTES = 1 << 30
_BLOCK = 1 << 20


def files_list(entries: Iterable[FileEntry]) -> tuple[bytes, FilesRef]:
    """The list as bytes (sorted by path, one JSON object a line) and what the manifest says of it.

    The list's name holds its digest: a try that died between list and manifest leaves a file that
    no later try can collide with.
    """
    ordered = sorted(entries, key=lambda entry: entry.path)
    for one, other in pairwise(ordered):
        if one.path == other.path:
            raise ValueError(f"the file {one.path!r} is listed twice")
    data = b"".join(
        canonical_bytes(entry.model_dump(mode="json", exclude_none=True)) + b"\n"
        for entry in ordered
    )
    sha256 = hashlib.sha256(data).hexdigest()
    count = len(ordered)
    return data, FilesRef(name=files_name(sha256), sha256=sha256, count=count, bytes=len(data))


def read_list(folder: Location, ref: FilesRef) -> bytes:
    """Read the list that *ref* names in *folder*.

    Raises:
        MissingFile, WrongChecksum, MalformedManifest: naming the list.
    """
    where = folder / ref.name
    if ref.bytes > MOST_LIST_BYTES:
        raise MalformedManifest(
            where=where, expected=f"at most {MOST_LIST_BYTES} bytes", found=f"{ref.bytes}"
        )
    return _read_whole(where, ref)


def parse_list(
    data: bytes, ref: FilesRef, *, where: object, unknown: Literal["ignore", "forbid"] = "forbid"
) -> Iterator[FileEntry]:
    """The entries of a list of files, checked; *unknown* is for fields that no entry has.

    Raises:
        MalformedManifest: with the line.
    """
    *lines, rest = data.split(b"\n")
    if rest or len(lines) != ref.count:
        raise MalformedManifest(
            where=where,
            expected=f"{ref.count} lines that end with a newline",
            found=f"{len(lines)} lines" + (" and a piece of one" if rest else ""),
        )
    before = ""
    for number, line in enumerate(lines, start=1):
        place = f"{where} line {number}"
        value = parse_json(line, where=place)
        try:
            entry = FileEntry.model_validate(value, extra=unknown)
        except ValidationError as error:
            raise MalformedManifest(
                where=place, expected="a file entry", found=describe(error)
            ) from None
        if entry.path <= before:
            raise MalformedManifest(
                where=place, expected=f"a path after {before!r}", found=repr(entry.path)
            )
        before = entry.path
        yield entry


def check_file(
    folder: Location,
    entry: FileEntry,
    *,
    content: bool = True,
    patience: Patience | None = None,
) -> None:
    """Compare one data file with its entry: presence, size and, unless told not to, checksums.

    One that is not there yet is waited for, with others where they share their *patience*.

    Raises:
        MissingFile, WrongChecksum: naming the file.
    """
    where = folder / entry.path
    size = (patience or Patience()).stat(where).size
    if size != entry.bytes:
        raise WrongChecksum(
            where=where,
            expected=f"{entry.bytes} bytes",
            found=f"{size} bytes",
            hint="The file was cut short or changed: rerun the stage that wrote it elsewhere.",
        )
    if not content:
        return
    checksums = Checksums()
    with open_read(where) as source:
        while block := source.read(_BLOCK):
            checksums.update(block)
    if different := checksums.difference(entry):
        raise WrongChecksum(
            where=where,
            expected=different[0],
            found=different[1],
            hint="The file was changed after the commit: rerun the stage that wrote it.",
        )


def read_file(folder: Location, entry: FileEntry) -> bytes:
    """Read one data file whole, and compare it with its entry; a file that is late is waited for.

    Raises:
        MissingFile, WrongChecksum: naming the file.
    """
    return _read_whole(folder / entry.path, entry)


def _read_whole(where: Location, recorded: FileEntry | FilesRef) -> bytes:
    Patience().stat(where)
    found = f"more than {recorded.bytes} bytes"
    with suppress(TooLarge):
        data = read_bytes(where, limit=recorded.bytes)
        sha256 = hashlib.sha256(data).hexdigest()
        if sha256 == recorded.sha256 and len(data) == recorded.bytes:
            return data
        found = f"{len(data)} bytes with {sha256}"
    raise WrongChecksum(
        where=where,
        expected=f"{recorded.bytes} bytes with SHA-256 {recorded.sha256}",
        found=found,
        hint="It was changed after the commit: copy it again, or delete the run and make it again.",
    )


def check_files(
    folder: Location, entries: Iterable[FileEntry], *, content: bool = True
) -> Iterator[ManifestError]:
    """Compare every data file with its entry, and go on after the first that is wrong.

    Files that are not there yet are waited for together.
    """
    patience = Patience()
    for entry in entries:
        try:
            check_file(folder, entry, content=content, patience=patience)
        except ManifestError as error:
            yield error


def file_sha256(location: Location) -> str:
    """SHA-256 (hex) of a file, read in blocks."""
    found = hashlib.sha256()
    with open_read(location) as source:
        while block := source.read(_BLOCK):
            found.update(block)
    return found.hexdigest()


def describe(error: ValidationError) -> str:
    """The first faults of a pydantic error in one line: field, what is wrong, the value."""
    faults = []
    for fault in error.errors(include_url=False)[:3]:
        field = ".".join(str(part) for part in fault["loc"]) or "(whole)"
        value = "" if fault["type"] == "missing" else f" (found {fault['input']!r:.100})"
        faults.append(f"{field}: {fault['msg']}{value}")
    more = error.error_count() - len(faults)
    return "; ".join(faults) + (f"; and {more} more" if more > 0 else "")
