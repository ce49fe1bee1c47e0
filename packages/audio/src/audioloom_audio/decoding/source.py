"""What a recording is read from: any object with ``read``, ``seek`` and ``tell`` over bytes."""

from __future__ import annotations

import os
from typing import Protocol


class Source(Protocol):
    """The part of ``typing.BinaryIO`` that is used here.

    It should be buffered: headers are read in pieces of a few bytes.
    """

    def read(self, size: int = -1, /) -> bytes:
        """Up to *size* bytes; none at the end."""
        ...

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Move; answer the new position."""
        ...

    def tell(self) -> int:
        """The position."""
        ...


def size_of(source: Source) -> int:
    """Bytes in all, asked of the source itself: a listing made earlier may be stale."""
    position = source.tell()
    size = source.seek(0, os.SEEK_END)
    source.seek(position)
    return size


def read_fully(source: Source, count: int) -> bytes:
    """*count* bytes, or all there are: a short read in the middle of a file is not its end."""
    data = source.read(count)
    if len(data) == count or not data:
        return data
    pieces = [data]
    missing = count - len(data)
    while missing and (data := source.read(missing)):
        pieces.append(data)
        missing -= len(data)
    return b"".join(pieces)
