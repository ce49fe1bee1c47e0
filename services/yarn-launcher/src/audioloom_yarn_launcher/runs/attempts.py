"""The records of a run: what was started, who came, and how it ended.

Each time the gang is started anew is an attempt, numbered from 1 through the life of the run
folder. Files are never changed, so an attempt has up to three, each published once and whole:

    attempts/<n>.started.json    published without replacing: whoever succeeds owns the attempt
    attempts/<n>.roster.json     the gang is complete and runs
    attempts/<n>.json            how it ended, and the first cause
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from audioloom_storage import (
    AlreadyExists,
    Location,
    NotFound,
    UnknownOutcome,
    list_folder,
    make_folder,
    publish,
)
from pydantic import BaseModel, ConfigDict

from audioloom_yarn_launcher.errors import BadRecord
from audioloom_yarn_launcher.rendezvous.arrivals import Arrival
from audioloom_yarn_launcher.rendezvous.causes import Cause, Kind
from audioloom_yarn_launcher.rendezvous.roles import Group
from audioloom_yarn_launcher.runs.localization import Provision
from audioloom_yarn_launcher.runs.process_identity import Owner
from audioloom_yarn_launcher.runs.record import RecordBase, read_record, record_bytes

_STARTED = re.compile(r"([1-9][0-9]{0,8})\.started\.json")

Outcome = Literal["finished", "failed", "interrupted"]
End = Literal["finished", "failed", "stopped", "lost", "not-started"]


class AttemptRecord(RecordBase):
    """What every record of an attempt has."""

    attempt: int


class Started(AttemptRecord):
    """An attempt was begun, and by whom.

    Args:
        provision: what its workers were given; None on one machine.
        command: with secrets masked.
        roles: who is called what; records of before roles do not say.
    """

    kind: Literal["attempt-started"] = "attempt-started"
    generation: int
    launch: str
    started: str
    on: str
    size: int
    command: tuple[str, ...]
    working_folder: str
    owner: Owner
    provision: Provision | None = None
    roles: tuple[Group, ...] = ()


class Seat(BaseModel):
    """A worker of the roster.

    Args:
        role: what it is called in TF_CONFIG; records of before roles do not say.
        index: its number among those of the role.
        exposed: why its command may listen at other addresses than this one; "" if it cannot, and
            in records of before there was anything against it.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    rank: int
    role: str = "worker"
    index: int | None = None
    worker: str
    host: str
    worker_pid: int
    address: str
    exposed: str = ""


class Formed(AttemptRecord):
    """The gang is complete."""

    kind: Literal["attempt-roster"] = "attempt-roster"
    formed: str
    workers: tuple[Seat, ...]


class WorkerEnd(Seat):
    """How it went with one worker.

    Args:
        pid: of the process that it ran, on its host.
        end: finished, failed by itself, stopped because of another, lost with its worker, or
            not started.
        log: the log, relative to the run folder; on storage without appending, of its pieces.
    """

    pid: int | None = None
    started: str | None = None
    ended: str | None = None
    end: End
    exit_code: int | None = None
    signal: int | None = None
    cause: str = ""
    log: str | None = None


class FirstCause(BaseModel):
    """Why the attempt ended."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    kind: str
    text: str
    rank: int | None = None
    exit_code: int
    tail: str = ""


class Ended(AttemptRecord):
    """How an attempt ended.

    Args:
        ended: None if nobody saw the end.
        cause: None if every process finished well.
        restarts: the same launcher goes on with another attempt.
        arrivals: how far each worker came, if the gang was not complete in time.
    """

    kind: Literal["attempt"] = "attempt"
    generation: int
    launch: str
    started: str
    ended: str | None
    outcome: Outcome
    exit_code: int
    cause: FirstCause | None = None
    restarts: bool = False
    workers: tuple[WorkerEnd, ...] = ()
    arrivals: tuple[Arrival, ...] = ()


def cause_of(ended: Ended) -> Cause | None:
    """Why a launch ended with this attempt; None if it ended well."""
    told = ended.cause
    if told is None or ended.exit_code == 0:
        return None
    kind: Kind = "interrupted" if ended.outcome == "interrupted" else "exit"
    return Cause(kind, told.text, told.exit_code, told.rank, tail=told.tail)


@dataclass(frozen=True)
class Attempt:
    """What is recorded of one attempt."""

    started: Started
    formed: Formed | None
    ended: Ended | None

    @property
    def open(self) -> bool:
        """Whether its launcher has more to do, if it lives."""
        return self.ended is None or self.ended.restarts

    @property
    def seats(self) -> tuple[Seat, ...]:
        """Its workers: as they ended if that is known, else as they came."""
        if self.ended is not None and self.ended.workers:
            return self.ended.workers
        return self.formed.workers if self.formed is not None else ()


def read_attempts(folder: Location) -> list[Attempt]:
    """The attempts at a run, in order.

    Raises:
        BadRecord: one of the records cannot be read.
    """
    return [_read_attempt(folder, number) for number in sorted(_numbers(folder))]


def executed_s(folder: Location, attempts: Iterable[Attempt]) -> float:
    """For how many seconds the gang was complete in these attempts.

    From when its roster was put on record until its end was, both by the clock of the storage:
    coordinators on two nodes have two. One that was lost has an end when the next has closed it.
    """
    try:
        entries = list_folder(folder / "attempts")
        written = {each.location.name: each.modified_ns for each in entries}
    except NotFound:
        return 0.0
    spans = 0
    for each in attempts:
        number = each.started.attempt
        formed, ended = written.get(f"{number}.roster.json"), written.get(f"{number}.json")
        if formed is not None and ended is not None:
            spans += max(0, ended - formed)
    return spans / 1e9


def begin(folder: Location, started: Started) -> bool:
    """Begin an attempt; False if another launcher has begun the one of this number."""
    where = folder / f"attempts/{started.attempt}.started.json"
    make_folder(folder / "attempts", private=True)
    try:
        publish(where, record_bytes(started))
    except AlreadyExists:
        return False
    except UnknownOutcome:
        found = read_record(where, Started)
        if found is None:
            raise
        return found.launch == started.launch
    return True


def record_roster(folder: Location, formed: Formed) -> None:
    """Record that the gang is complete."""
    publish(folder / f"attempts/{formed.attempt}.roster.json", record_bytes(formed))


def record_end(folder: Location, ended: Ended) -> None:
    """Record how an attempt ended; a record that is there already stands."""
    try:
        publish(folder / f"attempts/{ended.attempt}.json", record_bytes(ended))
    except AlreadyExists:
        return


def _numbers(folder: Location) -> Iterator[int]:
    try:
        for entry in list_folder(folder / "attempts"):
            if match := _STARTED.fullmatch(entry.location.name):
                yield int(match[1])
    except NotFound:
        return


def _read_attempt(folder: Location, number: int) -> Attempt:
    attempts = folder / "attempts"
    started = read_record(attempts / f"{number}.started.json", Started)
    if started is None:
        raise BadRecord("the record was there and is gone", where=attempts)
    return Attempt(
        started=started,
        formed=read_record(attempts / f"{number}.roster.json", Formed),
        ended=read_record(attempts / f"{number}.json", Ended),
    )
