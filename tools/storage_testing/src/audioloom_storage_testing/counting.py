"""Count the calls that a NameNode would answer if the storage were HDFS.

Which calls an operation takes is that of the backend for hdfs://; tests on local disk count the
same. Bytes do not come from the NameNode, so reading a file is one call, whatever its size.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO, cast

from audioloom_storage.backend.protocol import Backend, Entry, Writer
from audioloom_storage.backend.staged_sink import StagedBackend
from audioloom_storage.location import Location
from audioloom_storage.registry import put_between

from audioloom_storage_testing.stand_in import StandIn

VARIABLE = "AUDIOLOOM_STORAGE_COUNTING"

BLOCK_BYTES = 128 << 20
"""HDFS's default."""

LISTED = 1000
"""Entries in an answer to a listing: `dfs.ls.limit`."""


class Call(StrEnum):
    """A kind of call."""

    OPEN = "open"
    STAT = "stat"
    LIST = "list"
    CREATE = "create"
    ADD_BLOCK = "add block"
    COMPLETE = "complete"
    RENAME = "rename"
    MAKE_FOLDER = "make folder"
    DELETE = "delete"
    SET_PERMISSIONS = "set permissions"


_CALLS = tuple(Call)


@dataclass(frozen=True)
class CountingStore(StandIn):
    """Stands before every storage of a process and counts what is asked of it.

    Args:
        file: counts the calls of all processes that share it, a byte for each; need not exist yet.
    """

    file: Path

    @property
    def calls(self) -> Counter[Call]:
        """The number of calls so far, by kind."""
        data = self.file.read_bytes() if self.file.exists() else b""
        return Counter({_CALLS[byte]: count for byte, count in Counter(data).items()})

    def environment(self) -> dict[str, str]:
        """The variable by which `install_from_environment` installs this in another process."""
        return {VARIABLE: str(self.file)}

    @classmethod
    def install_from_environment(cls, environment: Mapping[str, str]) -> None:
        """Install what `environment` put there, if anything, for the rest of this process."""
        if text := environment.get(VARIABLE):
            put_between(cls(Path(text)).between)

    def between(self, backend: Backend) -> Backend:
        """A storage that is counted."""
        return _Counted(backend, self)

    def count(self, *calls: Call) -> None:
        """Add calls."""
        descriptor = os.open(self.file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC)
        try:
            os.write(descriptor, bytes(_CALLS.index(call) for call in calls))
        finally:
            os.close(descriptor)


class _Counted(StagedBackend):
    """What `Backend` asks for, counted."""

    def __init__(self, backend: Backend, store: CountingStore) -> None:
        self._backend = cast("StagedBackend", backend)  # each storage there is renames
        self._count = store.count

    def stat(self, location: Location) -> Entry:
        self._count(Call.STAT)
        return self._backend.stat(location)

    def lstat(self, location: Location) -> Entry:
        self._count(Call.STAT)
        return self._backend.lstat(location)

    def user(self, location: Location) -> str:
        return self._backend.user(location)  # HDFS is asked once a process

    def set_permissions(self, location: Location, mode: int) -> None:
        self._count(Call.SET_PERMISSIONS)
        self._backend.set_permissions(location, mode)

    def list_folder(self, location: Location) -> Iterator[Entry]:
        self._count(Call.LIST)
        return self._listed(self._backend.list_folder(location))

    def _listed(self, entries: Iterator[Entry]) -> Iterator[Entry]:
        for number, entry in enumerate(entries):
            if number and number % LISTED == 0:
                self._count(Call.LIST)
            yield entry

    def folder_identity(self, location: Location) -> Hashable:
        return self._backend.folder_identity(location)  # HDFS is not asked: it has no links

    def open_read(self, location: Location) -> BinaryIO:
        self._count(Call.OPEN)
        return self._backend.open_read(location)

    def start(self, temporary: Location, *, private: bool, replication: int | None) -> Writer:
        self._count(Call.CREATE)
        return _CountedWriter(
            self._backend.start(temporary, private=private, replication=replication), self._count
        )

    def commit(self, temporary: Location, target: Location, size: int) -> None:
        self._count(Call.STAT, Call.RENAME)
        self._backend.commit(temporary, target, size)

    def make_folder(self, location: Location, *, private: bool) -> None:
        self._count(Call.MAKE_FOLDER, *((Call.MAKE_FOLDER,) if private else ()))
        self._backend.make_folder(location, private=private)

    def remove(self, location: Location, *, within: Location | None) -> None:
        self._count(Call.STAT, Call.DELETE)
        self._backend.remove(location, within=within)

    def remove_empty_folder(self, location: Location, *, within: Location | None) -> bool:
        self._count(Call.STAT, Call.DELETE)
        return self._backend.remove_empty_folder(location, within=within)


class _CountedWriter:
    """A new file: each block that it fills is asked for, and so is its end."""

    def __init__(self, writer: Writer, count: Callable[..., None]) -> None:
        self._writer, self._count = writer, count
        self._size = 0

    def write(self, data: memoryview) -> int:
        written = self._writer.write(data)
        self._size += written
        return written

    def finish(self) -> None:
        blocks = -(-self._size // BLOCK_BYTES)
        self._count(*[Call.ADD_BLOCK] * blocks, Call.COMPLETE)
        self._writer.finish()

    def abandon(self) -> None:
        self._writer.abandon()
