"""The source of a recording: any object with ``read``, ``seek`` and ``tell`` over bytes."""

import os
from typing import Protocol


class Source(Protocol):
    """The part of ``typing.BinaryIO`` that decoders use.

    A source should be buffered: headers are read in pieces of a few bytes.
    """

    def read(self, size: int = -1, /) -> bytes:
        """Read up to *size* bytes; no bytes at the end."""
        ...

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Move the position and return it."""
        ...

    def tell(self) -> int:
        """The position."""
        ...


def size_of(source: Source) -> int:
    """Ask the source for its size in bytes, because an earlier listing may be stale."""
    position = source.tell()
    size = source.seek(0, os.SEEK_END)
    source.seek(position)
    return size


def read_fully(source: Source, count: int) -> bytes:
    """Read *count* bytes, fewer only at the end of the file; a short read is continued."""
    data = source.read(count)
    if len(data) == count or not data:
        return data
    pieces = [data]
    missing = count - len(data)
    while missing and (data := source.read(missing)):
        pieces.append(data)
        missing -= len(data)
    return b"".join(pieces)
