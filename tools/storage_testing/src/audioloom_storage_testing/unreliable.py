"""A storage that cannot be relied on: the same seed, the same faults at the same requests.

Requests are numbered through a file that all processes share. Which are hit, and how, is drawn
from the seed before the first one, and each fault is logged, so that a red seed shows what it did.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

from audioloom_storage.backend.protocol import Backend, Entry, Writer
from audioloom_storage.backend.staged_sink import StagedBackend
from audioloom_storage.backend.temporary import finished_path
from audioloom_storage.errors import NoSpace, Unavailable, UnknownOutcome
from audioloom_storage.location import Location
from audioloom_storage.registry import put_between

from audioloom_storage_testing.crashes import take_number
from audioloom_storage_testing.stand_in import StandIn

VARIABLE = "AUDIOLOOM_STORAGE_UNRELIABLE"

T = TypeVar("T")


class Fault(StrEnum):
    """How a request is answered wrongly."""

    FAILS = "it fails, and was not done"
    LIES = "it was done, and is said to have failed"
    SILENT_BEFORE = "no answer, and it was not done"
    SILENT_AFTER = "no answer, and it was done"
    TWICE = "it was done twice, and the second answer is the one that comes"
    FULL = "the storage is full from here on"


_READS = (Fault.FAILS,)
_CHANGES = (Fault.FAILS, Fault.LIES, Fault.TWICE)
_COMMITS = (Fault.FAILS, Fault.LIES, Fault.TWICE, Fault.SILENT_BEFORE, Fault.SILENT_AFTER)
_FULL_SHARE = 0.2
_MOST_FAULTS = 3


@dataclass(frozen=True)
class UnreliableStore(StandIn):
    """Stands before every storage of a process and answers some requests wrongly.

    Args:
        folder: where the processes that share it keep the number of requests and the log.
        seed: which requests are hit, and how.
        among: the faults fall on the first so many requests: as many as an undisturbed run makes.
            0 lets all requests through, and counts them.
    """

    folder: Path
    seed: int
    among: int

    @property
    def requests(self) -> int:
        """How many there were so far, by all processes."""
        counter = self.folder / "requests"
        return counter.stat().st_size if counter.exists() else 0

    @property
    def log(self) -> str:
        """The faults so far, a line each; with the seed, what a red test has to show."""
        file = self.folder / "faults"
        return f"seed {self.seed} among {self.among}\n" + (
            file.read_text() if file.exists() else ""
        )

    def environment(self) -> dict[str, str]:
        """The variable by which `install_from_environment` installs this in another process."""
        return {VARIABLE: f"{self.folder}:{self.seed}:{self.among}"}

    @classmethod
    def install_from_environment(cls, environment: Mapping[str, str]) -> None:
        """Install what `environment` put there, if anything, for the rest of this process."""
        text = environment.get(VARIABLE)
        if not text:
            return
        match = re.fullmatch(r"(.+):([0-9]+):([0-9]+)", text, re.DOTALL)
        if match is None:
            raise ValueError(f"{VARIABLE}={text!r}: expected FOLDER:SEED:AMONG")
        put_between(cls(Path(match[1]), int(match[2]), int(match[3])).between)

    def between(self, backend: Backend) -> Backend:
        """A storage with this one's faults before it."""
        return _Unreliable(backend, self)

    @cached_property
    def _drawn(self) -> dict[int, float]:
        """The requests that are hit, each with a number from which its fault follows."""
        numbers = random.Random(self.seed)  # noqa: S311 - no secret
        if not self.among:
            return {}
        count = numbers.randint(1, _MOST_FAULTS)
        return {numbers.randint(1, self.among): numbers.random() for _ in range(count)}

    @cached_property
    def _full_from(self) -> float:
        numbers = random.Random(f"full {self.seed}")  # noqa: S311 - no secret
        full = self.among and numbers.random() < _FULL_SHARE
        return numbers.randint(1, self.among) if full else float("inf")

    def meet(
        self, what: str, location: Location, possible: tuple[Fault, ...], *, grows: bool
    ) -> Fault | None:
        """Take a number for a request; answer what is wrong with it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        number = take_number(self.folder / "requests", b".")
        fault: Fault | None = None
        if number >= self._full_from:
            fault = Fault.FULL if grows else None
        elif (drawn := self._drawn.get(number)) is not None:
            fault = possible[int(drawn * len(possible))]
        if fault is not None:
            where = finished_path(str(location))  # an unfinished file has another name each time
            with (self.folder / "faults").open("a") as log:
                log.write(f"request {number}: {what} {where}: {fault.value}\n")
        return fault


class _Unreliable(StagedBackend):
    """What `Backend` asks for, with faults."""

    def __init__(self, backend: Backend, store: UnreliableStore) -> None:
        self._backend = cast("StagedBackend", backend)  # each storage there is renames
        self._store = store

    def stat(self, location: Location) -> Entry:
        return self._ask("stat", location, lambda: self._backend.stat(location))

    def lstat(self, location: Location) -> Entry:
        return self._ask("lstat", location, lambda: self._backend.lstat(location))

    def user(self, location: Location) -> str:
        return self._backend.user(location)

    def list_folder(self, location: Location) -> Iterator[Entry]:
        return self._ask("list", location, lambda: self._backend.list_folder(location))

    def folder_identity(self, location: Location) -> Hashable:
        return self._ask("identity", location, lambda: self._backend.folder_identity(location))

    def open_read(self, location: Location) -> BinaryIO:
        return self._ask("open", location, lambda: self._backend.open_read(location))

    def start(self, temporary: Location, *, private: bool, replication: int | None) -> Writer:
        made: list[Writer] = []

        def make() -> Writer:
            if made:  # a repeated request replaces the file, which is its writer's alone
                made[0].abandon()
                self._backend.remove(temporary, within=None)
            made.insert(0, self._backend.start(temporary, private=private, replication=replication))
            return made[0]

        writer = self._change("create", temporary, make, grows=True)
        return _UnreliableWriter(writer, temporary, self._change)

    def commit(self, temporary: Location, target: Location, size: int) -> None:
        def commit() -> None:
            self._backend.commit(temporary, target, size)

        self._change("commit", target, commit, possible=_COMMITS)

    def set_permissions(self, location: Location, mode: int) -> None:
        self._change("chmod", location, lambda: self._backend.set_permissions(location, mode))

    def make_folder(self, location: Location, *, private: bool) -> None:
        def make() -> None:
            self._backend.make_folder(location, private=private)

        self._change("mkdir", location, make, grows=True)

    def remove(self, location: Location, *, within: Location | None) -> None:
        self._change("remove", location, lambda: self._backend.remove(location, within=within))

    def remove_empty_folder(self, location: Location, *, within: Location | None) -> bool:
        def remove_empty_folder() -> bool:
            return self._backend.remove_empty_folder(location, within=within)

        return self._change("rmdir", location, remove_empty_folder)

    def _ask(self, what: str, location: Location, ask: Callable[[], T]) -> T:
        if self._store.meet(what, location, _READS, grows=False) is not None:
            raise Unavailable("no answer (a fault of the test)", where=location)
        return ask()

    def _change(
        self,
        what: str,
        location: Location,
        change: Callable[[], T],
        *,
        grows: bool = False,
        possible: tuple[Fault, ...] = _CHANGES,
    ) -> T:
        """Do it, or not, or twice, and tell it, or not."""
        fault = self._store.meet(what, location, possible, grows=grows)
        if fault is Fault.FULL:
            raise NoSpace("no room (a fault of the test)", where=location)
        if fault is Fault.FAILS:
            raise Unavailable("it failed (a fault of the test)", where=location)
        if fault is Fault.SILENT_BEFORE:
            raise UnknownOutcome("no answer (a fault of the test)", where=location)
        done = change()
        if fault is Fault.LIES:
            raise Unavailable("it failed (a fault of the test)", where=location)
        if fault is Fault.SILENT_AFTER:
            raise UnknownOutcome("no answer (a fault of the test)", where=location)
        return change() if fault is Fault.TWICE else done


class _UnreliableWriter:
    """A new file on it. What is said to have failed ends the file, so it is done or not."""

    def __init__(self, writer: Writer, location: Location, change: Callable[..., Any]) -> None:
        self._writer, self._location, self._change = writer, location, change

    def write(self, data: memoryview) -> int:
        written: int = self._grow("write", lambda: self._writer.write(data))
        return written

    def finish(self) -> None:
        self._grow("close", self._writer.finish)

    def abandon(self) -> None:
        self._writer.abandon()

    def _grow(self, what: str, change: Callable[[], Any]) -> Any:
        possible = (Fault.FAILS, Fault.LIES)
        return self._change(what, self._location, change, grows=True, possible=possible)
