"""Read what the processes of a training noted while it runs: RUN-FOLDER.md, sections 3 and 7."""

import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NamedTuple

from audioloom_stage.result import JSON
from audioloom_storage import (
    Location,
    NotAFile,
    NotAFolder,
    NotFound,
    StorageError,
    TooLarge,
    list_folder,
    read_bytes,
)

Line = dict[str, Any]

_NAME = re.compile(r"([0-9]+)(?:\.([0-9]+))?\.jsonl")
"""A worker's own file, by its rank; or the launcher's, by attempt and number."""
_ATTEMPT = re.compile(r"([0-9]{1,9})\..*")
_OUTCOMES = ("failed", "finished", "interrupted")
_MOST_BYTES = 16 << 20
_MOST_TEXT = 200
_TRIES = 3
_SILENT_SECONDS = 300.0  # a worker notes its progress every few seconds, or minutes


class ProgressFile(NamedTuple):
    """A launcher's file for all workers of an attempt, or the file of a worker without one."""

    launched: bool
    owner: int
    """The attempt, or the rank of the worker."""
    location: Location


def read_progress(where: Location) -> list[Line]:
    """Read the lines of a progress file, oldest first, without unreadable lines."""
    try:
        return read_lines(where)
    except (StorageError, OSError):
        return []


def read_lines(where: Location) -> list[Line]:
    """Read as `read_progress` does; StorageError if the file cannot be read."""
    text = read_bytes(where, limit=_MOST_BYTES).decode(errors="replace")
    return [*objects(text.split("\n"))]  # a text may hold other ends of lines


def read_newest(
    folder: Location, read: Callable[[ProgressFile], list[Line]]
) -> list[tuple[ProgressFile, list[Line]]]:
    """Read the file of each worker, then the newest one of each attempt of a launcher, in order.

    The launcher removes a file when the next is there, so one that was listed may be gone: then
    the folder is listed again.
    """
    found: list[tuple[ProgressFile, list[Line]]] = []
    for _ in range(_TRIES):
        files: dict[tuple[bool, int], ProgressFile] = {}
        for name in sorted(matches(folder / "progress", _NAME), key=_order):
            launched, owner, _ = _order(name)
            place = folder / f"progress/{name[0]}"
            files[launched, owner] = ProgressFile(launched, owner, place)
        found = []
        with suppress(NotFound):
            for file in files.values():
                with suppress(NotAFile, TooLarge):
                    found.append((file, read(file)))
            break
    return found


def last_progress(folder: Location) -> dict[str, Line]:
    """Return the last line of each worker's progress, by rank, of whichever attempt it is."""
    return dict(_last_lines(folder))


def training_state(folder: Location) -> dict[str, JSON]:
    """Return the `state` of a training without a manifest, and a `detail` if it failed.

    The state is failed, interrupted, stopped, running or killed, or finished if all processes of
    a launcher ended well and committed nothing; {} if the folder does not tell.
    """
    attempt, end = _last_attempt(folder)
    begun = time_of(end.get("ended"))
    if end.get("restarts"):
        attempt += 1
    elif end.get("outcome") in _OUTCOMES:
        cause = end.get("cause")
        told = cause.get("text") if isinstance(cause, dict) else None
        return _failed(told) if end["outcome"] == "failed" else {"state": end["outcome"]}
    elif attempt:
        begun = time_of(_record(folder / f"attempts/{attempt}.started.json").get("started"))
    noted = {rank: x for rank, x in _last_lines(folder) if _is_of(x, attempt, begun)}
    lines = noted.values()
    failed = next((line for line in lines if line.get("event") == "failed"), None)
    if failed is not None:
        return _failed(failed.get("text"))
    if not lines:  # an attempt that has just begun
        return {"state": "running"} if begun is not None and _is_alive(begun) else {}
    times = [moment for line in lines if (moment := time_of(line.get("time"))) is not None]
    if not times:
        return {}
    stopped = all(line.get("event") == "stopped" for line in lines)
    return {"state": "stopped" if stopped else "running" if _is_alive(max(times)) else "killed"}


def _last_lines(folder: Location) -> Iterator[tuple[str, Line]]:
    """Yield the rank and the last line of each worker, perhaps of several attempts, in order."""
    for file, lines in read_newest(folder, lambda file: read_lines(file.location)):
        if file.launched:
            for line in lines:
                if type(line.get("rank")) is int and "event" in line:
                    yield str(line["rank"]), line
        elif lines:
            yield str(file.owner), lines[-1]


def _is_of(line: Line, attempt: int, begun: float | None) -> bool:
    """Whether a line is of an attempt or a later one; without a number its time decides."""
    number = line.get("attempt")
    if isinstance(number, int) and number > 0:
        return number >= attempt
    noted = time_of(line.get("time"))
    return begun is None or noted is None or noted >= begun


def _is_alive(moment: float) -> bool:
    return time.time() - moment < _SILENT_SECONDS


def _failed(told: object) -> dict[str, JSON]:
    return {"state": "failed", "detail": str(told or "")[:_MOST_TEXT]}


def _last_attempt(folder: Location) -> tuple[int, Line]:
    """The number of a launcher's last attempt, 0 without one, and the record of its end."""
    names = [*matches(folder / "attempts", _ATTEMPT)]
    last = max((int(name[1]) for name in names), default=0)
    ended = f"{last}.json" in [name[0] for name in names]
    return last, _record(folder / f"attempts/{last}.json") if ended else {}


def _record(where: Location) -> Line:
    try:
        return next(objects([read_bytes(where, limit=_MOST_BYTES)]), {})
    except (StorageError, OSError):
        return {}


def objects(texts: Sequence[str | bytes]) -> Iterator[Line]:
    """Yield the JSON objects among texts from outside; what is none is left out."""
    for text in texts:
        with suppress(ValueError, RecursionError):
            value = json.loads(text)
            if isinstance(value, dict):
                yield value


def time_of(value: object) -> float | None:
    """Return a time as seconds since 1970; without a zone it is one of UTC. None for no time."""
    with suppress(ValueError, OverflowError):
        found = datetime.fromisoformat(value if isinstance(value, str) else "")
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    return None


def matches(folder: Location, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """Yield the names in a folder that match; none if there is no such folder."""
    with suppress(NotFound, NotAFolder):
        for entry in list_folder(folder):
            if match := pattern.fullmatch(entry.location.name):
                yield match


def _order(name: re.Match[str]) -> tuple[bool, int, int]:
    return name[2] is not None, int(name[1]), int(name[2] or 0)
