"""Read the wall time of a training run, by class, from its run folder (RUN-FOLDER section 10)."""

import heapq
import re
from collections.abc import Iterator, Mapping
from operator import attrgetter
from typing import Any

from audioloom_storage import Location, NotAFolder, NotFound, TooLarge, open_read, read_bytes

from audioloom_runs.goodput import LABELS, MEASURED, AttemptTimes, divide
from audioloom_runs.progress import (
    Line,
    ProgressFile,
    matches,
    objects,
    read_lines,
    read_newest,
    time_of,
)
from audioloom_runs.tables import table

MOST_RECORD_BYTES = 64 << 20
MOST_SECONDS = 1e10
MOST_STEPS = 1 << 53
_HEAD_BYTES = 1 << 16
"""The leader, which measures, is in the first line of a file of the launcher."""

_STARTED = re.compile(r"([1-9][0-9]{0,8})\.started\.json")
_LAUNCH = re.compile(r"[0-9a-f]{32}")


def wall_time(run: Location, newest: Mapping[str, Any] | None = None) -> dict[str, float]:
    """Return the seconds of each class of `LABELS`; {} if no trainer has measured anything.

    Args:
        run: the run folder.
        newest: a line of progress that is not in the folder yet.

    Raises:
        StorageError: storage failed otherwise than by a missing file.
    """
    lines = _progress(run)
    if newest is not None:
        lines |= _by_attempt([dict(newest)])
    launched = dict(_launched(run, lines))
    alone = [
        AttemptTimes(since, formed=since, **_measured(line))  # only its trainer says when it began
        for key, line in lines.items()
        if key not in launched and (since := _amount(line.get("since")))
    ]
    begun = attrgetter("begun")
    # Attempts of a launcher stay in their order, whatever the clocks of its machines say.
    attempts = [*heapq.merge(launched.values(), sorted(alone, key=begun), key=begun)]
    return divide(attempts) if any(attempt.measured for attempt in attempts) else {}


def seconds_in(run: Location) -> float | None:
    """Return the wall time of a training so far, across attempts; None if it was not measured."""
    return sum(wall_time(run).values()) or None


def wall_time_table(seconds: Mapping[str, float]) -> str:
    """Lay out the seconds and the share of each class that took any time, as text."""
    whole = sum(seconds.values())
    rows = [
        (label, f"{seconds[name]:.1f}", f"{seconds[name] / whole:.1%}")
        for name, label in LABELS.items()
        if seconds.get(name)
    ]
    return table(("wall time", "seconds", "share"), [*rows, ("all", f"{whole:.1f}", "100.0%")])


def _launched(run: Location, lines: Mapping[Any, Line]) -> Iterator[tuple[int, AttemptTimes]]:
    requested: dict[str, float | None] = {}
    for number in sorted(int(match[1]) for match in matches(run / "attempts", _STARTED)):
        started = _record(run / f"attempts/{number}.started.json")
        members = _record(run / f"attempts/{number}.members.json")
        end = _record(run / f"attempts/{number}.json")
        begun, launch = time_of(started.get("started")), started.get("launch")
        if begun is None:
            continue
        launch = launch if isinstance(launch, str) and _LAUNCH.fullmatch(launch) else ""
        if launch and launch not in requested:
            submission = _record(run / f"submissions/{launch}.json")
            requested[launch] = time_of(submission.get("submitted"))
        formed = time_of(members.get("formed"))
        localising = _amount(members.get("localising_s"))
        times = AttemptTimes(
            begun,
            launch,
            requested=requested.get(launch),
            allocated=None if formed is None else formed - localising,
            formed=formed,
            ended=time_of(end.get("ended")),
            finished=end.get("outcome") == "finished",
            **_measured(lines.get(number, {})),
        )
        yield number, times


def _measured(line: Line) -> dict[str, Any]:
    seconds = line.get("seconds")
    given = seconds if isinstance(seconds, dict) else {}
    return {
        "first": _step(line.get("from_step")),
        "last": _step(line.get("step")) or 0,
        "measured": {name: value for name in MEASURED if (value := _amount(given.get(name)))},
    }


def _progress(run: Location) -> dict[Any, Line]:
    """Return the newest value of each field of the leader, by attempt.

    The key is the number of an attempt of a launcher; without a launcher, the time of its begin.
    """
    return _by_attempt([line for _, lines in read_newest(run, _of_leader) for line in lines])


def _of_leader(file: ProgressFile) -> list[Line]:
    if not file.launched:
        return [] if file.owner else read_lines(file.location)
    with open_read(file.location) as opened:
        head = opened.read(_HEAD_BYTES)
    return [*objects(head.splitlines())][::-1]  # rank 0 counts


def _by_attempt(lines: list[Line]) -> dict[Any, Line]:
    found: dict[Any, Line] = {}
    for line in lines:
        attempt, since = line.get("attempt"), _amount(line.get("since"))
        launched = isinstance(attempt, int) and attempt > 0
        if isinstance(line.get("seconds"), dict) and (launched or since):
            key = attempt if launched else since
            found[key] = found.get(key, {}) | line
    return found


def _record(where: Location) -> Line:
    try:
        return next(objects([read_bytes(where, limit=MOST_RECORD_BYTES)]), {})
    except (NotFound, NotAFolder, TooLarge):
        return {}


def _amount(value: object) -> float:
    """Return seconds from 0 to `MOST_SECONDS`; 0.0 for anything else."""
    known = isinstance(value, int | float) and 0 <= value <= MOST_SECONDS
    return float(value) if known else 0.0  # type: ignore[arg-type]


def _step(value: object) -> int | None:
    known = isinstance(value, int) and 0 <= value <= MOST_STEPS
    return int(value) if known else None  # type: ignore[call-overload]
