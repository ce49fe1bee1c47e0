"""Read what the processes of a training noted while it runs: RUN-FOLDER.md, sections 3 and 7."""

import json
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from audioloom_stage.result import JSON
from audioloom_storage import Location, NotAFolder, NotFound, StorageError, list_folder, read_bytes

Line = dict[str, Any]

_NAME = re.compile(r"([0-9]+)(?:\.([0-9]+))?\.jsonl")
"""A worker's own file, by its rank; or the launcher's, by attempt and number."""
_ATTEMPT = re.compile(r"([0-9]{1,9})\..*")
_OUTCOMES = ("failed", "finished", "interrupted")
_MOST_BYTES = 16 << 20
_MOST_TEXT = 200
_SILENT_SECONDS = 300.0  # a worker notes its progress every few seconds, or minutes


def read_progress(where: Location) -> list[Line]:
    """Read the lines of a progress file, oldest first, without unreadable lines."""
    return [*objects(_text(where).split("\n"))]  # a text may hold other ends of lines


def last_progress(folder: Location) -> dict[str, Line]:
    """Return the last line of each worker's progress, by rank.

    Workers without a launcher have a file each. A launcher has one file for all workers of an
    attempt, and publishes it again and again under a higher number.
    """
    found: dict[str, Line] = {}
    for name in sorted(matches(folder / "progress", _NAME), key=_order):
        lines = read_progress(folder / f"progress/{name[0]}")
        if name[2] is None:
            found |= {name[1]: lines[-1]} if lines else {}
            continue
        for line in lines:
            if type(line.get("rank")) is int and "event" in line:
                found[str(line["rank"])] = line
    return found


def training_state(folder: Location) -> dict[str, JSON]:
    """Return the `state` of a training without a manifest, and a `detail` if it failed.

    The state is failed, interrupted, stopped, running or killed, or finished if all processes of
    a launcher ended well and committed nothing; {} if the folder does not tell.
    """
    end = _last_end(folder)
    if end.get("outcome") in _OUTCOMES and not end.get("restarts"):
        cause = end.get("cause")
        told = cause.get("text") if isinstance(cause, dict) else None
        return _failed(told) if end["outcome"] == "failed" else {"state": end["outcome"]}
    lines = last_progress(folder).values()
    failed = next((line for line in lines if line.get("event") == "failed"), None)
    if failed is not None:
        return _failed(failed.get("text"))
    times = [moment for line in lines if (moment := time_of(line.get("time"))) is not None]
    if not times:
        return {}
    alive = time.time() - max(times) < _SILENT_SECONDS
    stopped = all(line.get("event") == "stopped" for line in lines)
    return {"state": "stopped" if stopped else "running" if alive else "killed"}


def _failed(told: object) -> dict[str, JSON]:
    return {"state": "failed", "detail": str(told or "")[:_MOST_TEXT]}


def _last_end(folder: Location) -> Line:
    """The record of the last attempt's end, unless a later attempt has begun."""
    names = [*matches(folder / "attempts", _ATTEMPT)]
    last = max((int(name[1]) for name in names), default=0)
    if f"{last}.json" not in [name[0] for name in names]:
        return {}
    return next(objects([_text(folder / f"attempts/{last}.json")]), {})


def _text(where: Location) -> str:
    try:
        return read_bytes(where, limit=_MOST_BYTES).decode(errors="replace")
    except (StorageError, OSError):
        return ""


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
