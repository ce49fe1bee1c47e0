"""Read the progress of a worker's program: `progress/<rank>.jsonl`, SPEC section 6."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from audioloom_storage import Location, NotFound, open_read

from audioloom_yarn_launcher.monitoring.error_lines import shortened

FIRST_BYTES, LAST_BYTES = 1 << 14, 1 << 16
PROGRESS = (
    *("step", "steps", "epoch", "loss", "steps_per_second", "input_wait"),
    *("event", "time", "attempt"),
)

_OF_AN_ATTEMPT = ("steps_per_second", "input_wait")
_TOLD_TO_END = "Stopped"


def progress_lines(folder: Location, rank: int) -> list[dict[str, Any]]:
    """Read the first and the last lines of a worker, oldest first; empty without a file."""
    try:
        with open_read(folder / f"progress/{rank}.jsonl") as file:
            size = file.seek(0, 2)
            file.seek(0)
            if size <= FIRST_BYTES + LAST_BYTES:
                return list(_records(file.read()))
            first = file.read(FIRST_BYTES)
            file.seek(size - LAST_BYTES)
            return [*_records(first), *_records(file.read())]
    except NotFound:
        return []


def newest(lines: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Find the newest value of each of `PROGRESS`; the speed only of the newest attempt."""
    found: dict[str, Any] = {}
    for line in lines:
        if line.get("attempt", found.get("attempt")) != found.get("attempt"):
            for name in _OF_AN_ATTEMPT:
                found.pop(name, None)
        found |= {key: line[key] for key in PROGRESS if key in line}
    return found


def failure(lines: Sequence[dict[str, Any]], attempt: int) -> tuple[str, tuple[int, ...]]:
    """Find the error that ended a program in an attempt, and the ranks of its lost peers."""
    for line in reversed(lines):
        if line.get("event") == "failed" and line.get("attempt") == attempt:
            if line.get("error") == _TOLD_TO_END:
                break
            told = [str(line[key]) for key in ("error", "text") if line.get(key)]
            ranks = line.get("peer_ranks")
            missed = [each for each in ranks if isinstance(each, int)] if ranks else []
            return shortened(": ".join(told)), tuple(missed)
    return "", ()


def last_step(lines: Sequence[dict[str, Any]], attempt: int) -> int | None:
    """Find the last step of a program in an attempt; None without a step."""
    for line in reversed(lines):
        if line.get("attempt") == attempt and isinstance(line.get("step"), int):
            return int(line["step"])
    return None


def _records(data: bytes) -> Iterator[dict[str, Any]]:
    for line in data.split(b"\n"):
        try:
            record = json.loads(line)
        except ValueError:
            continue  # our read may cut off the first line, an unfinished write the last
        if isinstance(record, dict):
            yield record
