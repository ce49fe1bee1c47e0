"""Data files whose names hold their digest: written to local scratch first, then copied out."""

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
    """A file on local disk that takes the digest of its bytes; Arrow can write to it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._sha256 = hashlib.sha256()
        self._size = 0
        self.closed = False

    def write(self, data: bytes) -> int:
        """Append."""
        self._file.write(data)
        self._sha256.update(data)
        self._size += len(memoryview(data).cast("B"))
        return len(data)

    def tell(self) -> int:
        """Bytes so far."""
        return self._size

    def flush(self) -> None:
        """Nothing to do: nobody reads the file before `publish_as`."""

    def close(self) -> None:
        """Nothing to do: `content_addressed_file` closes the file."""

    def publish_as(
        self, folder: Location, start: str, *, role: str, records: int, end: str = ".parquet"
    ) -> FileEntry:
        """Copy to `<folder>/<start>-<12 digits of the digest><end>`; answer the file entry.

        If an earlier attempt has left the same file there, its bytes are checked and kept.

        Raises:
            WrongChecksum: a file of that name holds other bytes.
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
    """A file on local disk that is gone when the block ends."""
    with tempfile.TemporaryFile(prefix="audioloom-featurizer-") as file:
        yield ContentAddressedFile(file)
