"""Open the recordings of a unit: files, and members of containers.

A container that is read in sequence is unpacked to scratch disk when its first member is opened.
"""

import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import IO, BinaryIO, cast

from audioloom_storage import Location, StorageError, open_read, stat

from audioloom_featurizer.containers.formats import (
    container_suffix,
    open_container,
    read_in_sequence,
)
from audioloom_featurizer.containers.member import BadContainer, Container, Slice
from audioloom_featurizer.inventory.parquet import Row
from audioloom_featurizer.inventory.paths import file_of
from audioloom_featurizer.sandbox.messages import Heartbeat, MonitoredFile, Refusal

IN_MEMORY_BYTES = 8 << 20


class Members:
    """Opens the recordings of a unit, in any order; keeps the last container open.

    The *source* is the folder of the recordings, or the container that holds them; the *rows* are
    all rows of the unit, in the order of their paths.
    """

    def __init__(
        self, source: Location, rows: Sequence[Row], heartbeat: Heartbeat | None = None
    ) -> None:
        self._source, self._rows = source, rows
        self.heartbeat = heartbeat or Heartbeat()
        self._place: Location | None = None
        self._open: _Opened | None = None

    def where(self, row: Row) -> Location:
        """The file that holds a recording."""
        return file_of(self._source, row["path"], row["member"])

    def refused_unread(self, blamed: Mapping[int, Refusal]) -> dict[int, Refusal]:
        """The *blamed* recordings, and those that follow one whose container was not unpacked.

        All wanted members are unpacked when the first is opened, and any of them may be to blame:
        to try each in turn would take a process for each.
        """
        found: dict[int, Refusal] = {}
        for number, row in enumerate(self._rows):
            before = found.get(number - 1)
            if number in blamed:
                found[number] = blamed[number]
            elif before is not None and before.stage == "open" and row["member"] is not None:
                place = self.where(row)
                same = self.where(self._rows[number - 1]) == place
                if same and read_in_sequence(place.name, row["offset"]):
                    found[number] = before
        return found

    @contextmanager
    def open(self, row: Row) -> Iterator[IO[bytes]]:
        """Open a recording.

        Raises:
            BadContainer: its container does not hold it as it was listed.
            StorageError: it cannot be read.
        """
        if row["member"] is None:
            with open_read(self.where(row)) as file:
                # A container may be large, and a process without heartbeats is stopped.
                _refuse_damaged(row, cast("BinaryIO", MonitoredFile(file, self.heartbeat)))
                yield file
            return
        container = self._container(row)
        try:
            yield container.member(row)
        except StorageError:
            self.close()  # the next try opens it again
            raise

    def close(self) -> None:
        """Close the container that is open, and free its scratch disk."""
        if self._open is not None:
            self._open.close()
        self._place = self._open = None

    def _container(self, row: Row) -> "_Opened":
        place = self.where(row)
        if self._open is None or self._place != place or row["member"] not in self._open.wanted:
            self.close()
            wanted = {**self._inside.get(place, {}), row["member"]: row["size"]}
            self._open = _Opened(place, wanted, self.heartbeat)
            self._place = place
        return self._open

    @cached_property
    def _inside(self) -> Mapping[Location, dict[str, int]]:
        """The members of each container, with their sizes."""
        found: defaultdict[Location, dict[str, int]] = defaultdict(dict)
        for row in self._rows:
            if row["member"] is not None:
                found[self.where(row)][row["member"]] = row["size"]
        return found


class _Opened:
    """An open container, of which the members of a unit are wanted."""

    def __init__(self, where: Location, wanted: dict[str, int], heartbeat: Heartbeat) -> None:
        self._name, self.wanted, self._heartbeat = where.name, wanted, heartbeat
        self._size = stat(where).size
        self._file = open_read(where)
        self._scratch = tempfile.SpooledTemporaryFile(IN_MEMORY_BYTES)  # noqa: SIM115 - `close` does
        self._places: dict[str, int] = {}
        self._damage: BadContainer | None = None
        self._container: Container | None = None

    def member(self, row: Row) -> IO[bytes]:
        """A member as a file, which is valid until the next one."""
        name, size, offset = row["member"], row["size"], row["offset"]
        if offset is not None:
            return cast("IO[bytes]", Slice(self._file, offset, size))
        if read_in_sequence(self._name, offset):
            if not self._places and self._damage is None:
                self._unpack(self.wanted)
        else:
            self._scratch.seek(0)
            self._scratch.truncate()
            self._places.clear()
            self._damage = None
            self._unpack({name: size})
        if name not in self._places:
            raise self._damage or BadContainer(f"no member {name}")
        return cast("IO[bytes]", Slice(self._scratch, self._places[name], size))

    def close(self) -> None:
        self._scratch.close()
        self._file.close()

    def _unpack(self, wanted: dict[str, int]) -> None:
        try:
            if self._container is None:
                monitored = cast("BinaryIO", MonitoredFile(self._file, self._heartbeat))
                self._container = open_container(self._name, monitored, self._size)
            for name, content in self._container.unpack(wanted):
                self._keep(name, content, wanted[name])
                if wanted.keys() <= self._places.keys():
                    break
        except BadContainer as damage:
            self._damage = damage

    def _keep(self, name: str, content: Iterator[bytes | memoryview], size: int) -> None:
        start = self._scratch.seek(0, 2)
        for piece in content:
            self._heartbeat.beat()
            self._scratch.write(piece)
        if (found := self._scratch.tell() - start) != size:
            raise BadContainer(f"{name} has {found} bytes instead of {size} as listed")
        self._places[name] = start


def _refuse_damaged(row: Row, file: BinaryIO) -> None:
    """Say what is wrong with a container that could not be listed to its end.

    Raises:
        BadContainer: it is still damaged, or was mended: its own bytes are no recording.
    """
    if container_suffix(row["path"]) is None:
        return
    for _ in open_container(row["path"], file, row["size"]).members():
        pass
    raise BadContainer("one that can be read now: scan again")
