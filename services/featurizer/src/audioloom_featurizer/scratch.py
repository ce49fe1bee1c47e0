"""Scratch files of this process, and a scratch folder for files that tasks pass to the driver.

A scratch file is published under a name that contains its digest.
"""

import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedIOBase, BufferedRandom

from audioloom_manifest.checksum import Checksums
from audioloom_manifest.envelope import FileEntry
from audioloom_manifest.file_list import check_file
from audioloom_storage import AlreadyExists, Location, NotFound, create, locate, remove_tree

FOLDER = "scratch"
"""Below a root; `gc` looks here for the files of a scan that was killed."""

PREFIX = "audioloom-featurizer-"
_BLOCK = 1 << 20


def scratch_file() -> BufferedRandom:
    """Open a local file without a name."""
    return tempfile.TemporaryFile(prefix=PREFIX)


def publish_as(
    file: BufferedIOBase, folder: Location, start: str, *, role: str, records: int
) -> FileEntry:
    """Copy a local file to `<folder>/<start>-<12 digits of its digest>.parquet`.

    A file that an earlier attempt left under this name is checked and kept.

    Raises:
        WrongChecksum: a file with this name has other bytes.
    """
    file.seek(0)
    checksums = Checksums()
    while block := file.read(_BLOCK):
        checksums.update(block)
    fields = checksums.fields()
    path = f"{start}-{fields['sha256'][:12]}.parquet"
    entry = FileEntry(path=path, bytes=file.tell(), role=role, records=records, **fields)
    file.seek(0)
    try:
        with create(folder / path) as target:
            shutil.copyfileobj(file, target, _BLOCK)
    except AlreadyExists:
        check_file(folder, entry)
    return entry


@contextmanager
def scratch_folder(master: str, root: Location) -> Iterator[Location]:
    """Yield a folder, which may not exist yet, and delete it at the end of the block.

    It is local, or below the root, where all nodes reach it.
    """
    if master.startswith("local") or not master:
        with tempfile.TemporaryDirectory(prefix=PREFIX) as made:
            yield locate(made)
        return
    folder = root / FOLDER / f"scan-{uuid.uuid4().hex}"
    try:
        yield folder
    finally:
        with suppress(NotFound):
            remove_tree(folder)
