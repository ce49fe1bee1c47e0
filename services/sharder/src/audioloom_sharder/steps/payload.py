"""Hold the records of a unit of shards: in memory, or in a local file where memory is too small."""

import tempfile
from typing import BinaryIO

import numpy as np
from audioloom_storage import Location
from numpy.typing import NDArray

from audioloom_sharder.errors import DamagedRecord, DiskFull
from audioloom_sharder.steps.job import DAMAGED_HINT


class Payload:
    """The bytes of records, in the order in which they were added. Close it.

    Args:
        room: memory for the records, or for those that are loaded at once.
    """

    def __init__(self, room: NDArray[np.uint8]) -> None:
        self._room = room
        self._size = 0
        self._file: BinaryIO | None = None

    @property
    def is_in_memory(self) -> bool:
        """Whether memory holds all records."""
        return self._file is None

    def add(self, stream: BinaryIO, where: Location, start: int, size: int) -> int:
        """Copy *size* bytes of a file and return their place.

        Raises:
            DamagedRecord: the file ends before.
            DiskFull: the folder of temporary files has no room for them.
        """
        place, self._size = self._size, self._size + size
        stream.seek(start)
        if self._file is None and self._size <= len(self._room):
            _fill(self._room[place : self._size], stream, where)
            return place
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="audioloom-sharder-")  # noqa: SIM115
                self._file.write(self._room[:place].data)
            while size:
                piece = self._room[: min(size, len(self._room))]
                _fill(piece, stream, where)
                self._file.write(piece.data)
                size -= len(piece)
            self._file.flush()
        except OSError as error:
            raise DiskFull(
                "the local disk has no room for the records of some shards",
                where=tempfile.gettempdir(),
                expected=f"{self._size:,} bytes",
                found=str(error),
                hint="Point TMPDIR to a larger disk, or use fewer --executor-cores.",
            ) from error
        return place

    def load(
        self, places: NDArray[np.int64], lengths: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Load records; return memory that holds them until the next call, and where in it."""
        if self._file is None:
            return self._room, places
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


def _fill(target: NDArray[np.uint8], stream: BinaryIO, where: Location) -> None:
    found = stream.readinto(target.data)  # type: ignore[attr-defined] # it is buffered
    if found != len(target):
        raise DamagedRecord(
            expected=f"{len(target)} bytes of records",
            found=found,
            where=where,
            hint=DAMAGED_HINT,
        )
