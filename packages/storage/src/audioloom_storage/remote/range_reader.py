"""Read remote files in ranges: seekable, and reading ahead where the reader goes in order."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

from audioloom_storage.location import Location
from audioloom_storage.remote.retry import Busy, Outage, Retry

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_BUFFER_BYTES = 16 << 10  # a DataNode takes no longer for so many bytes than for one
_BEGINNING_BYTES = 256 << 10  # a reader that starts at the beginning mostly goes on
_GROWTH = 8
_LONGEST_WINDOW_BYTES = 256 << 20

OpenRange = Callable[[int, int], Iterator[bytes]]


def open_ranges(location: Location, size: int, open_range: OpenRange, retry: Retry) -> BinaryIO:
    """Open a seekable, buffered file of that many bytes.

    *open_range* yields the bytes from an offset in pieces. It and its iterator raise StorageErrors
    only, and Outage or Busy where another try may help.
    """
    return _File(_Ranges(location, size, open_range, retry))


class _File(io.BufferedReader):
    """A file that announces each read, because its buffer splits a read into several.

    The buffer first asks for multiples of its own size, then for the rest.
    """

    def __init__(self, raw: _Ranges) -> None:
        super().__init__(raw, _BUFFER_BYTES)
        self._ranges = raw

    def read(self, size: int | None = -1, /) -> bytes:
        """Return the given number of bytes, or the rest of the file."""
        if size is not None and size > _BUFFER_BYTES:
            self._ranges.expect(self.tell() + size)
        return super().read(size)

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Fill the buffer, or read the rest of the file."""
        with memoryview(buffer) as view:
            if view.nbytes > _BUFFER_BYTES:
                self._ranges.expect(self.tell() + view.nbytes)
        return super().readinto(buffer)

    def pieces(self) -> Iterator[memoryview]:
        """Request the rest of the file at once, and yield it as it arrives, without a copy."""
        start = self.tell()
        self.seek(0, io.SEEK_END)  # forgets the buffer, which is ahead of its reader
        self._ranges.seek(start)
        return self._ranges.pieces()


class _Ranges(io.RawIOBase):
    """A raw file that requests the bytes of a read, and more while reads continue in order.

    A range is a stream that the storage fills while its reader works. A range that is left in the
    middle costs a connection, so the first read at a place requests no more than was wanted.
    """

    def __init__(self, location: Location, size: int, open_range: OpenRange, retry: Retry) -> None:
        self._location = location
        self._size = size
        self._open_range = open_range
        self._retry = retry
        self._process = os.getpid()
        self._position = 0
        self._window = 0  # bytes of the previous range; 0 after a jump
        self._expected = 0  # the end of the announced read
        self._pieces: Iterator[bytes] | None = None
        self._piece = memoryview(b"")
        self._ahead = 0  # bytes of this range that are not yet taken

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def expect(self, end: int) -> None:
        """Request no less than the bytes up to this place with the next request."""
        self._expected = end

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Move anywhere, past the end too; nothing is requested before a read."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        if start + offset < 0:
            raise ValueError(f"{self._location}: expected a place in the file, found {offset}")
        if start + offset != self._position:
            self._position = start + offset
            self._leave()
            self._window = self._expected = 0
        return self._position

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Read some bytes, as many as arrive together."""
        with memoryview(buffer) as view, view.cast("B") as room:
            wanted = min(len(room), self._size - self._position)
            if wanted <= 0:
                return 0
            piece = self._retry.run(partial(self._next, wanted))
            room[: len(piece)] = piece
        self._move(len(piece))
        return len(piece)

    def readall(self) -> bytes:
        """Return the rest of the file, without the copy that `readinto` makes."""
        return b"".join(self.pieces())

    def pieces(self) -> Iterator[memoryview]:
        """Yield the rest of the file as it arrives."""
        more = partial(self._next, self._size)
        while self._position < self._size:
            piece = self._retry.run(more)
            self._move(len(piece))
            yield piece
            # A retry around each piece would take as long as the piece; after a failure, the next
            # turn asks again.
            with suppress(Outage, Busy):
                for arrived in self._pieces or ():
                    self._move(len(arrived))
                    yield memoryview(arrived)

    def close(self) -> None:
        """Close the open range."""
        self._leave()
        super().close()

    def _next(self, wanted: int) -> memoryview:
        """Return some of the bytes at the position; `_move` marks them as used."""
        if self._process != os.getpid():  # a fork must not read from its parent's stream
            self._process = os.getpid()
            self._leave()
        try:
            pieces = self._pieces or self._open(wanted)
            while not self._piece:
                self._piece = memoryview(next(pieces))
        except StopIteration:
            self._leave()
            raise Outage("the answer ended too early", where=self._location) from None
        except BaseException:
            self._leave()
            raise
        return self._piece[:wanted]

    def _move(self, count: int) -> None:
        self._position += count
        self._piece = self._piece[count:]
        self._ahead -= count
        if self._ahead == 0:
            self._leave()

    def _open(self, wanted: int) -> Iterator[bytes]:
        grown = min(_GROWTH * self._window, _LONGEST_WINDOW_BYTES)
        least = 0 if self._position else _BEGINNING_BYTES
        self._window = max(grown, wanted, least, self._expected - self._position)
        self._ahead = min(self._window, self._size - self._position)
        self._pieces = self._open_range(self._position, self._ahead)
        return self._pieces

    def _leave(self) -> None:
        pieces, self._pieces = self._pieces, None
        self._piece = memoryview(b"")
        self._ahead = 0
        close = getattr(pieces, "close", None)
        if close is not None:
            close()
