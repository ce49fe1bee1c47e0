"""The records of those beside the gang: what happened to them, one thing after the other.

    beside/<k>.json    k = 1, 2, … through the life of the run folder; published once and whole

The log of a process is `logs/<rank>.<attempt>.log`, by the attempt in which it was started; one
that is started anew in the same attempt goes on with it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from audioloom_storage import Location, NotFound, list_folder, make_folder, publish

from audioloom_yarn_launcher.runs.record import RecordBase, read_record, record_bytes

FOLDER = "beside"
_NAME = re.compile(r"([1-9][0-9]{0,8})\.json")


class Happened(RecordBase):
    """Something happened to one of them.

    Args:
        what: its process was started, its page answers, or its process has ended.
        attempt: of the gang, in which the process was started; 0 if none ever was.
        page: where its page is to be seen.
        exit_code: of the process, if it ended by itself.
        signal: that ended it.
        cause: why it did not end well, to go on with a subject; "" if it did.
        stopped: it was told to end.
        again: it is started anew.
    """

    kind: Literal["beside"] = "beside"
    what: Literal["started", "shown", "ended"]
    time: str
    rank: int
    role: str
    index: int
    attempt: int
    worker: str = ""
    host: str = ""
    address: str = ""
    pid: int | None = None
    page: str = ""
    exit_code: int | None = None
    signal: int | None = None
    cause: str = ""
    stopped: bool = False
    again: bool = False


@dataclass(frozen=True)
class Story:
    """All that happened to one of them.

    Args:
        last: the newest record.
        starts: how often its process was started.
        page: where its page is, while its process runs.
        failures: why it ended, each time that it did not end well.
    """

    last: Happened
    starts: int = 0
    page: str = ""
    failures: tuple[str, ...] = ()

    @property
    def state(self) -> str:
        """As the states of workers are called."""
        if self.last.what != "ended":
            return "running"
        if self.last.stopped:
            return "stopped"
        if not self.last.cause:
            return "finished"
        return "restarting" if self.last.again else "failed"


def read_stories(folder: Location) -> dict[int, Story]:
    """What is on record of each, by rank.

    Raises:
        BadRecord: one of the records cannot be read.
    """
    found: dict[int, Story] = {}
    for number in sorted(numbers(folder)):
        record = read_record(folder / f"{FOLDER}/{number}.json", Happened)
        if record is not None:
            found[record.rank] = _goes_on(found, record)
    return found


def numbers(folder: Location) -> list[int]:
    """The numbers of all records."""
    try:
        names = [_NAME.fullmatch(each.location.name) for each in list_folder(folder / FOLDER)]
    except NotFound:
        return []
    return [int(match[1]) for match in names if match is not None]


def record_happening(folder: Location, number: int, happened: Happened) -> None:
    """Put it on record."""
    make_folder(folder / FOLDER, private=True)
    publish(folder / f"{FOLDER}/{number}.json", record_bytes(happened))


def _goes_on(found: Mapping[int, Story], record: Happened) -> Story:
    before = found.get(record.rank)
    if before is not None and before.last.role != record.role:
        before = None  # another size of the gang, and so another's rank
    failures = before.failures if before is not None else ()
    return Story(
        last=record,
        starts=(before.starts if before is not None else 0) + (record.what == "started"),
        page=record.page if record.what == "shown" else "",
        failures=(*failures, record.cause) if record.cause else failures,
    )
