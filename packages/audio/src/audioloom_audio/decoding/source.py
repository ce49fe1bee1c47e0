"""The source of a recording, and the checksum of the whole file while a decoder reads it."""

import hashlib
import os
import sys
from typing import Protocol

_PIECE = 1 << 20
# After a jump of at most this size the skipped bytes are read for the digest at once. After a
# longer jump a decoder usually comes back, because it only looked at the end of the file.
GAP_BYTES = 1 << 20


class Source(Protocol):
    """The part of ``typing.BinaryIO`` that decoders use.

    A source should be buffered: headers are read in pieces of a few bytes.
    """

    def read(self, size: int = -1, /) -> bytes:
        """Read up to *size* bytes; no bytes at the end."""

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Move the position and return it."""

    def tell(self) -> int:
        """The position."""


def read_fully(source: Source, count: int) -> bytes:
    """Read *count* bytes, fewer only at the end of the file; a short read is continued."""
    pieces = []
    while count and (data := source.read(count)):
        pieces.append(data)
        count -= len(data)
    return b"".join(pieces)


class DigestingReader:
    """Reads from *source* and computes the SHA-256 of the file's bytes in file order.

    Bytes that are read twice are hashed once. `finish` reads the bytes that nobody read (after a
    first window, in skipped chunks). So the digest always covers the whole file, also after a
    refusal, and the file is read once as long as the decoder goes forward. *source* may be at any
    position; hashing starts at byte 0 and ends after *most* bytes. `hashed` is the number of bytes
    hashed so far, from the start; after `finish`, it is at most the file's size.
    """

    def __init__(self, source: Source, most: int = sys.maxsize) -> None:
        self._source = source
        self._most = most
        self._sha256 = hashlib.sha256()
        self.hashed = 0
        self._position = source.tell()

    def read(self, size: int = -1, /) -> bytes:
        """Read up to *size* bytes from the position and hash the new bytes."""
        if 0 < min(self._position, self._most) - self.hashed <= GAP_BYTES:
            self._hash_up_to(min(self._position, self._most))
            self._source.seek(self._position)
        data = self._source.read(size)
        start, self._position = self._position, self._position + len(data)
        if start <= self.hashed < min(self._position, self._most):
            new = memoryview(data)[self.hashed - start : self._most - start]
            self._sha256.update(new)
            self.hashed += len(new)
        return data

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Move the position, without hashing, and return it."""
        self._position = self._source.seek(offset, whence)
        return self._position

    def tell(self) -> int:
        """The position."""
        return self._position

    def finish(self) -> str:
        """Read the rest and return ``sha256:`` with 64 lower-case hexadecimal digits.

        Further calls return the same digest. Errors of the source pass through; a later call
        resumes the reading.
        """
        self._hash_up_to(self._most)
        self._position = self._source.seek(self.hashed)
        return f"sha256:{self._sha256.hexdigest()}"

    def _hash_up_to(self, end: int) -> None:
        self._source.seek(self.hashed)
        while self.hashed < end:
            data = self._source.read(min(_PIECE, end - self.hashed))
            if not data:
                break
            self._sha256.update(data)
            self.hashed += len(data)
