"""Hold the records of a unit of work: in memory, or in a local file where memory is too small."""

from collections.abc import Iterator
from typing import BinaryIO

import numpy as np
from audioloom_storage import Location
from numpy.typing import NDArray

from audioloom_sharder.errors import DamagedRecord
from audioloom_sharder.io.failures import disk_full_as_error, temporary_file
from audioloom_sharder.steps.job import DAMAGED_HINT

#: Payload held in memory; a local file collects that of a larger unit. A larger shard is encoded
#: twice: for its name, and for the write.
WINDOW_BYTES = 256 << 20


class Payload:
    """The bytes of records, in the order in which they were added. Close it.

    Args:
        room: memory for the records, or for those that are loaded at once.
    """

    def __init__(self, room: NDArray[np.uint8]) -> None:
        self._room = room
        self._used = self._spilled = 0
        self._file: BinaryIO | None = None

    @property
    def is_in_memory(self) -> bool:
        """Whether memory holds all records."""
        return self._file is None

    def reserve(self, size: int) -> NDArray[np.uint8]:
        """Return the memory of the next *size* bytes; fill it before the next call.

        Raises:
            DiskFull: the folder of temporary files has no room for the bytes before.
        """
        if self._used + size > len(self._room):
            self._spill()
            if size > len(self._room):
                self._room = np.empty(size, np.uint8)
        begin, self._used = self._used, self._used + size
        return self._room[begin : self._used]

    def add(self, stream: BinaryIO, where: Location, start: int, size: int) -> int:
        """Copy *size* bytes of a file and return their place.

        Raises:
            DamagedRecord: the file ends before.
            DiskFull: as `reserve`.
        """
        place = self._spilled + self._used
        stream.seek(start)
        while size:
            piece = self.reserve(min(size, len(self._room)))
            found = stream.readinto(piece.data)  # type: ignore[attr-defined] # it is buffered
            if found != len(piece):
                raise DamagedRecord(
                    expected=f"{len(piece)} bytes of records",
                    found=found,
                    where=where,
                    hint=DAMAGED_HINT,
                )
            size -= len(piece)
        return place

    def _spill(self) -> None:
        """Move the bytes in memory to the end of the local file."""
        if not self._used:
            return
        self._spilled += self._used
        with disk_full_as_error(self._spilled, "the records of some shards"):
            if self._file is None:
                self._file = temporary_file()
            self._file.write(self._room[: self._used].data)
            self._file.flush()
        self._used = 0

    def slices(self, lengths: NDArray[np.int64]) -> Iterator[slice]:
        """Cut records of these lengths into slices that memory can hold, or of one record."""
        ends = np.cumsum(lengths)
        begin, done = 0, 0
        while begin < len(ends):
            end = max(begin + 1, int(np.searchsorted(ends, done + len(self._room), side="right")))
            yield slice(begin, end)
            begin, done = end, int(ends[end - 1])

    def load(
        self, places: NDArray[np.int64], lengths: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Load records; return memory that holds them until the next call, and where in it."""
        if self._file is None:
            return self._room, places
        self._spill()
        if len(self._room) < (total := int(lengths.sum())):
            self._room = np.empty(total, np.uint8)
        order = np.argsort(places)
        begins, sizes = places[order], lengths[order]
        targets = np.cumsum(sizes) - sizes
        breaks = np.flatnonzero(begins[1:] != begins[:-1] + sizes[:-1]) + 1
        for first, end in zip([0, *breaks], [*breaks, len(order)], strict=True):
            self._file.seek(begins[first])
            target = self._room[targets[first] : targets[end - 1] + sizes[end - 1]]
            self._file.readinto(target.data)  # type: ignore[attr-defined] # it is buffered
        found = np.empty_like(targets)
        found[order] = targets
        return self._room, found

    def close(self) -> None:
        """Remove the local file."""
        if self._file is not None:
            self._file.close()
