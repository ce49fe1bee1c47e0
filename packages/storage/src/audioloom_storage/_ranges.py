"""Files read in ranges from afar: seekable, and ahead of the reader where it reads in order."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, cast

from audioloom_storage._patience import Outage, Patience
from audioloom_storage.location import Location

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_BUFFER_BYTES = 256 << 10
_FIRST_WINDOW_BYTES = 4 << 20
_LONGEST_WINDOW_BYTES = 256 << 20

OpenRange = Callable[[int, int], Iterator[bytes]]


def open_ranges(
    location: Location, size: int, open_range: OpenRange, patience: Patience
) -> BinaryIO:
    """A seekable, buffered file.

    Args:
        location: for errors.
        size: bytes in the file; it does not change.
        open_range: from an offset, so many bytes, in pieces as they come. It and its iterator raise
            StorageErrors only, and Outage where another try may go better.
        patience: how long to try.
    """
    raw = _Ranges(location, size, open_range, patience)
    return cast("BinaryIO", io.BufferedReader(raw, _BUFFER_BYTES))


class _Ranges(io.RawIOBase):
    """Asks for what is read, and, where reading goes on where it ended, for more at a time.

    A range is a stream that the storage fills while its reader is at work. One that is left in
    the middle costs a connection, so the first read of a place asks for no more than was wanted.
    """

    def __init__(
        self, location: Location, size: int, open_range: OpenRange, patience: Patience
    ) -> None:
        self._location = location
        self._size = size
        self._open_range = open_range
        self._patience = patience
        self._process = os.getpid()
        self._position = 0
        self._window = 0  # bytes of the range before; 0 after a jump
        self._pieces: Iterator[bytes] | None = None
        self._piece = memoryview(b"")
        self._ahead = 0  # bytes of this range that were not yet taken

    def readable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Always."""
        return True

    def tell(self) -> int:
        """Where the next read starts."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Go anywhere, past the end too; nothing is asked for before a read."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        if start + offset < 0:
            raise ValueError(f"{self._location}: expected a place in the file, found {offset}")
        if start + offset != self._position:
            self._position = start + offset
            self._leave()
            self._window = 0
        return self._position

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Fill the buffer, or what is left of the file."""
        with memoryview(buffer) as view, view.cast("B") as room:
            wanted = min(len(room), self._size - self._position)
            if wanted <= 0:
                return 0
            return self._patience.run(lambda: self._take(room[:wanted]))

    def readall(self) -> bytes:
        """All that is left, without the copy that `readinto` makes."""
        pieces = []
        while self._position < self._size:
            left = self._size - self._position
            pieces.append(bytes(self._patience.run(partial(self._next, left, left))))
            self._move(len(pieces[-1]))
        return b"".join(pieces)

    def close(self) -> None:
        """Let go of the range that is open."""
        self._leave()
        super().close()

    def _take(self, room: memoryview) -> int:
        taken = 0
        while taken < len(room):
            try:
                piece = self._next(len(room) - taken, len(room) - taken)
            except Exception:
                if taken:
                    break  # told by the next read, if it fails as well
                raise
            room[taken : taken + len(piece)] = piece
            taken += len(piece)
            self._move(len(piece))
        return taken

    def _next(self, most: int, wanted: int) -> memoryview:
        """Some of the bytes at the position; `_move` says that they were used."""
        if self._process != os.getpid():  # a fork must not read from what its parent reads from
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
        return self._piece[:most]

    def _move(self, count: int) -> None:
        self._position += count
        self._piece = self._piece[count:]
        self._ahead -= count
        if self._ahead == 0:
            self._leave()

    def _open(self, wanted: int) -> Iterator[bytes]:
        if self._window:
            self._window = min(max(2 * self._window, _FIRST_WINDOW_BYTES), _LONGEST_WINDOW_BYTES)
        self._window = max(self._window, wanted)
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
