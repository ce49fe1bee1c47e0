"""Write data files whose names contain their digest: first to local scratch, then copied."""

import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from audioloom_manifest import FileEntry, check_file
from audioloom_storage import AlreadyExists, Location, create

_BLOCK = 1 << 20


class ContentAddressedFile:
    """A file on local disk that computes the digest of its bytes; Arrow can write to it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._sha256 = hashlib.sha256()
        self._size = 0
        self.closed = False

    def write(self, data: bytes) -> int:
        """Append *data* and return its length."""
        self._file.write(data)
        self._sha256.update(data)
        self._size += len(memoryview(data).cast("B"))
        return len(data)

    def tell(self) -> int:
        """The number of bytes written so far."""
        return self._size

    def flush(self) -> None:
        """Do nothing: nobody reads the file before `publish_as`."""

    def close(self) -> None:
        """Do nothing: `content_addressed_file` closes the file."""

    def publish_as(
        self, folder: Location, start: str, *, role: str, records: int, end: str = ".parquet"
    ) -> FileEntry:
        """Copy to `<folder>/<start>-<12 digits of the digest><end>` and return the file entry.

        A file that an earlier attempt left under this name is checked and kept.

        Raises:
            WrongChecksum: a file with this name has other bytes.
        """
        sha256 = self._sha256.hexdigest()
        entry = FileEntry(
            path=f"{start}-{sha256[:12]}{end}",
            bytes=self._size,
            sha256=sha256,
            role=role,
            records=records,
        )
        self._file.seek(0)
        try:
            with create(folder / entry.path) as target:
                shutil.copyfileobj(self._file, target, _BLOCK)
        except AlreadyExists:
            check_file(folder, entry)
        return entry


@contextmanager
def content_addressed_file() -> Iterator[ContentAddressedFile]:
    """Yield a file on local disk and delete it at the end of the block."""
    with tempfile.TemporaryFile(prefix="audioloom-featurizer-") as file:
        yield ContentAddressedFile(file)
