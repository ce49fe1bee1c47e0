"""Publish data files whose names contain their digest."""

import hashlib
import os
import shutil
from io import BufferedIOBase

from audioloom_manifest import FileEntry, check_file
from audioloom_storage import AlreadyExists, Location, create

_BLOCK = 1 << 20


def publish_as(
    file: BufferedIOBase, folder: Location, start: str, *, role: str, records: int
) -> FileEntry:
    """Copy a local file to `<folder>/<start>-<12 digits of its digest>.parquet`.

    A file that an earlier attempt left under this name is checked and kept.

    Raises:
        WrongChecksum: a file with this name has other bytes.
    """
    file.seek(0)
    sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    path, size = f"{start}-{sha256[:12]}.parquet", file.seek(0, os.SEEK_END)
    entry = FileEntry(path=path, bytes=size, sha256=sha256, role=role, records=records)
    file.seek(0)
    try:
        with create(folder / path) as target:
            shutil.copyfileobj(file, target, _BLOCK)
    except AlreadyExists:
        check_file(folder, entry)
    return entry
