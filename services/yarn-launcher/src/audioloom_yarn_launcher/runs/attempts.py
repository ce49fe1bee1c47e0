"""The records of a run's attempts: the start, the members and the end of each.

Each restart of the gang is an attempt, numbered from 1 through the life of the run folder. Files
are never changed, so an attempt has up to three, each published once and whole:

    attempts/<n>.started.json    published without replacing: the launcher that succeeds owns it
    attempts/<n>.members.json    the gang is complete and runs
    attempts/<n>.json            how it ended, and the first cause
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

import structlog
from audioloom_storage import AlreadyExists, Location, UnknownOutcome, make_folder, publish
from pydantic import BaseModel, ConfigDict

from audioloom_yarn_launcher.rendezvous.backend import Arrival
from audioloom_yarn_launcher.rendezvous.causes import TRY_AGAIN, Cause
from audioloom_yarn_launcher.rendezvous.messages import Reason
from audioloom_yarn_launcher.rendezvous.roles import Group
from audioloom_yarn_launcher.runs.layout import entries
from audioloom_yarn_launcher.runs.process_identity import ProcessIdentity
from audioloom_yarn_launcher.runs.record import RecordBase, file_names, read_record, record_bytes
from audioloom_yarn_launcher.runs.submissions import Localization
from audioloom_yarn_launcher.system.addresses import exposed_text

_STARTED = re.compile(r"([1-9][0-9]{0,8})\.started\.json")

Outcome = Literal["finished", "failed", "interrupted"]
WorkerOutcome = Literal["finished", "failed", "stopped", "lost", "not-started"]

log = structlog.get_logger()


class AttemptStarted(RecordBase):
    """The start of an attempt.

    Args:
        localization: programs of its containers; None on one machine.
        command: the command, with secrets masked.
    """

    attempt: int
    kind: Literal["attempt-started"] = "attempt-started"
    generation: int
    launch: str
    started: str
    on: str
    size: int
    command: tuple[str, ...]
    working_folder: str
    owner: ProcessIdentity
    localization: Localization | None = None
    roles: tuple[Group, ...] = ()

    def end(self, cause: Cause | None, told: Cause | None, **facts: Any) -> "AttemptEnd":
        """Make the record of the end: *cause* decides how it ended, and *told* is recorded."""
        outcome: Outcome = "finished" if cause is None else "failed"
        if cause is not None and cause.kind == "interrupted":
            outcome = "interrupted"
        return AttemptEnd(
            **self.model_dump(include={"attempt", "generation", "launch", "started"}),
            outcome=outcome,
            exit_code=cause.exit_code if cause else 0,
            cause=told,
            **facts,
        )


class WorkerRecord(BaseModel):
    """A worker of an attempt, with its role and index in TF_CONFIG.

    It tells why its command may listen at other addresses than this one, as *exposed*.
    """

    model_config = ConfigDict(frozen=True)

    rank: int
    role: str = "worker"
    index: int | None = None
    worker: str
    host: str
    worker_pid: int
    address: str
    exposed: str = ""


class AttemptMembers(RecordBase):
    """The members of an attempt, complete *localising_s* after the last container was allocated."""

    attempt: int
    kind: Literal["attempt-members"] = "attempt-members"
    formed: str
    localising_s: float = 0.0
    workers: tuple[WorkerRecord, ...]


class WorkerEnd(WorkerRecord):
    """The end of one worker.

    Args:
        end: failed by itself, stopped because of another, lost with its worker, or as its name.
        cause: why it ended, in words that continue a subject.
        log: path of its log in the run folder, or a pattern for the pieces of the log.
    """

    pid: int | None = None
    started: str | None = None
    ended: str | None = None
    end: WorkerOutcome
    exit_code: int | None = None
    signal: int | None = None
    cause: str = ""
    reason: Reason = ""
    log: str | None = None


class AttemptEnd(RecordBase):
    """The end of an attempt.

    Args:
        ended: end time; None if nobody saw the end.
        cause: the first cause; None if every process succeeded.
        restarts: the launcher continues with another attempt.
    """

    attempt: int
    kind: Literal["attempt"] = "attempt"
    generation: int
    launch: str
    started: str
    ended: str | None
    outcome: Outcome
    exit_code: int
    cause: Cause | None = None
    restarts: bool = False
    workers: tuple[WorkerEnd, ...] = ()
    arrivals: tuple[Arrival, ...] = ()


@dataclass(frozen=True)
class Attempt:
    """All records of one attempt."""

    started: AttemptStarted
    formed: AttemptMembers | None
    ended: AttemptEnd | None

    @property
    def number(self) -> int:
        """The number of the attempt, from 1."""
        return self.started.attempt

    @property
    def open(self) -> bool:
        """Whether the attempt has no record of its end, or its launcher restarts the gang."""
        return self.ended is None or self.ended.restarts

    @property
    def workers(self) -> tuple[WorkerRecord, ...]:
        """The workers of the attempt: from its end if known, else as they registered."""
        if self.ended is not None and self.ended.workers:
            return self.ended.workers
        return self.formed.workers if self.formed is not None else ()

    @property
    def loss(self) -> Cause:
        """The cause if it ended with its launcher, before it could be recorded."""
        text = f"the launcher was lost: {self.started.owner} is gone"
        return Cause("launcher-lost", text, TRY_AGAIN)

    @property
    def cause(self) -> Cause | None:
        """Why its launch ended with this attempt, none being at work; None if it succeeded."""
        if self.ended is None or self.ended.restarts:
            return self.loss
        return None if self.ended.exit_code == 0 else self.ended.cause


def read_attempts(folder: Location) -> list[Attempt]:
    """Read the attempts of a run, in order; BadRecord if one cannot be read."""
    attempts = folder / "attempts"
    found = []
    for number in sorted(map(int, file_names(attempts, _STARTED))):
        started = read_record(attempts / f"{number}.started.json", AttemptStarted)
        formed = read_record(attempts / f"{number}.members.json", AttemptMembers)
        ended = read_record(attempts / f"{number}.json", AttemptEnd)
        if started is not None:  # a record is never removed
            found.append(Attempt(started, formed, ended))
    return found


def executed_s(folder: Location, attempts: Iterable[Attempt]) -> float:
    """Return the seconds in which the gang was complete in these attempts.

    Both ends of each span are file times by the clock of the storage, because coordinators on two
    nodes have two clocks. An attempt whose coordinator was lost ends when the next one closes it.
    """
    written = {each.location.name: each.modified_ns for each in entries(folder / "attempts")}
    spans = 0
    for each in attempts:
        formed = written.get(f"{each.number}.members.json")
        ended = written.get(f"{each.number}.json")
        if formed is not None and ended is not None:
            spans += max(0, ended - formed)
    return spans / 1e9


def begin(folder: Location, started: AttemptStarted) -> bool:
    """Begin an attempt; return False if another launcher has begun this number."""
    where = folder / f"attempts/{started.attempt}.started.json"
    make_folder(folder / "attempts", private=True)
    try:
        publish(where, record_bytes(started))
    except AlreadyExists:
        return False
    except UnknownOutcome:
        found = read_record(where, AttemptStarted)
        if found is None:
            raise
        return found.launch == started.launch
    return True


def report_exposed(record: AttemptMembers) -> None:
    """Warn of workers that are open to strangers, once for each reason."""
    reasons: dict[str, list[int]] = {}
    for worker in record.workers:
        if worker.exposed:
            reasons.setdefault(worker.exposed, []).append(worker.rank)
    for reason, ranks in reasons.items():
        log.warning(exposed_text(reason), workers=ranks)


def publish_record(folder: Location, record: AttemptMembers | AttemptEnd) -> None:
    """Record that the gang is complete, or how an attempt ended; a record is never changed."""
    part = ".members" if isinstance(record, AttemptMembers) else ""
    with suppress(AlreadyExists):
        publish(folder / f"attempts/{record.attempt}{part}.json", record_bytes(record))
