"""The records of a run: what was started, who came, and how it ended.

Each time the gang is started anew is an attempt, numbered from 1 through the life of the run
folder. Files are never changed, so an attempt has up to three, each published once and whole:

    attempts/<n>.started.json    published without replacing: whoever succeeds owns the attempt
    attempts/<n>.roster.json     the gang is complete and runs
    attempts/<n>.json            how it ended, and the first cause
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from audioloom_storage import (
    AlreadyExists,
    Location,
    NotFound,
    UnknownOutcome,
    list_folder,
    publish,
    read_bytes,
)
from pydantic import BaseModel, ConfigDict, ValidationError

from audioloom_yarn_launcher.errors import BadRecord
from audioloom_yarn_launcher.owner import Owner

VERSION = "1.0"
MOST_BYTES = 64 << 20
_STARTED = re.compile(r"([1-9][0-9]{0,8})\.started\.json")

Record = TypeVar("Record", bound="RecordBase")
Outcome = Literal["finished", "failed", "interrupted"]
End = Literal["finished", "failed", "stopped", "lost", "not-started"]


class RecordBase(BaseModel):
    """What every record has. Fields that a later minor version adds are passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    version: str = VERSION
    attempt: int


class Started(RecordBase):
    """An attempt was begun, and by whom."""

    kind: Literal["attempt-started"] = "attempt-started"
    generation: int
    launch: str
    started: str
    on: str
    size: int
    command: tuple[str, ...]
    working_folder: str
    owner: Owner


class Seat(BaseModel):
    """A worker of the roster."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    rank: int
    worker: str
    host: str
    worker_pid: int
    address: str


class Formed(RecordBase):
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


class Ended(RecordBase):
    """How an attempt ended.

    Args:
        ended: None if nobody saw the end.
        cause: None if every process finished well.
        restarts: the same launcher goes on with another attempt.
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


def read_attempts(folder: Location) -> list[Attempt]:
    """The attempts at a run, in order.

    Raises:
        BadRecord: one of the records cannot be read.
    """
    return [_read_attempt(folder, number) for number in sorted(_numbers(folder))]


def begin(folder: Location, started: Started) -> bool:
    """Begin an attempt; False if another launcher has begun the one of this number."""
    where = folder / f"attempts/{started.attempt}.started.json"
    try:
        publish(where, _bytes(started))
    except AlreadyExists:
        return False
    except UnknownOutcome:
        found = _read(where, Started)
        if found is None:
            raise
        return found.launch == started.launch
    return True


def record_roster(folder: Location, formed: Formed) -> None:
    """Record that the gang is complete."""
    publish(folder / f"attempts/{formed.attempt}.roster.json", _bytes(formed))


def record_end(folder: Location, ended: Ended) -> None:
    """Record how an attempt ended; a record that is there already stands."""
    try:
        publish(folder / f"attempts/{ended.attempt}.json", _bytes(ended))
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
    started = _read(attempts / f"{number}.started.json", Started)
    if started is None:
        raise BadRecord("the record was there and is gone", where=attempts)
    return Attempt(
        started=started,
        formed=_read(attempts / f"{number}.roster.json", Formed),
        ended=_read(attempts / f"{number}.json", Ended),
    )


def _read(where: Location, model: type[Record]) -> Record | None:
    try:
        data = read_bytes(where, limit=MOST_BYTES)
    except NotFound:
        return None
    try:
        value = json.loads(data)
        _check_version(value, where)
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        found = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    except ValueError as error:
        found = str(error)
    raise BadRecord(
        "a record of the run cannot be read",
        where=where,
        expected=f"version {VERSION} of {model.__name__.lower()}",
        found=found,
    )


def _check_version(value: Any, where: Location) -> None:
    version = value.get("version") if isinstance(value, dict) else None
    major = VERSION.partition(".")[0]
    if isinstance(version, str) and version.partition(".")[0] != major:
        raise BadRecord(
            "a record of the run is of another major version",
            where=where,
            expected=f"{major}.x",
            found=version,
            hint="Use the release of audioloom-yarn-launcher that wrote it.",
        )


def _bytes(record: RecordBase) -> bytes:
    return record.model_dump_json(indent=2).encode() + b"\n"
