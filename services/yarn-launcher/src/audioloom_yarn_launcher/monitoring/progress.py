"""Read the progress of the workers: `progress/` in the run folder, RUN-FOLDER section 7."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from audioloom_runs.progress import Line, objects
from audioloom_storage import Location, NotFound, open_read

from audioloom_yarn_launcher.monitoring.error_lines import shortened
from audioloom_yarn_launcher.rendezvous.status import NUMBERS, PEERS
from audioloom_yarn_launcher.runs.layout import entries
from audioloom_yarn_launcher.system.waiting import ahead

MOST_BYTES, TRIES = 16 << 20, 3
PROGRESS = (*NUMBERS, "event", "time", "attempt")

_NAME = re.compile(r"([0-9]+)(?:\.([0-9]+))?\.jsonl")
_OF_AN_ATTEMPT = ("steps_per_second", "input_wait")
_TOLD_TO_END = "Stopped"


class _File(NamedTuple):
    """A file of progress: with a number, the launcher's for an attempt; with 0, that of a rank."""

    owner: int
    number: int
    location: Location


def read_progress(folder: Location, attempts: int = 0) -> dict[int, list[Line]]:
    """Read the lines of each worker by rank, oldest first.

    The launcher publishes one file for all workers of an attempt; of the last *attempts*, or of
    all (0), the newest one counts. A program that publishes its progress itself has its own file.
    """
    for _ in range(TRIES):
        files = _files(folder, attempts)
        contents = [*ahead(_read, files)]
        if None not in contents:
            break  # otherwise a newer file has replaced one meanwhile
    found: dict[int, list[Line]] = {}
    for file, data in zip(files, contents, strict=True):
        # Our read may cut off the first line, an unfinished write the last.
        for line in objects((data or b"").split(b"\n")):
            rank = line.get("rank") if file.number else file.owner
            if isinstance(rank, int):
                found.setdefault(rank, []).append(line)
    return found


def newest(lines: Sequence[Line]) -> Line:
    """Find the newest value of each of `PROGRESS`; the speed only of the newest attempt."""
    found: Line = {}
    for line in lines:
        if line.get("attempt", found.get("attempt")) != found.get("attempt"):
            for name in _OF_AN_ATTEMPT:
                found.pop(name, None)
        found |= {key: line[key] for key in PROGRESS if key in line}
    return found


def usage(lines: Sequence[Line], attempt: int) -> Line:
    """Find the newest sample of the resources that a process of an attempt uses; {} without one."""
    found = (line.get("usage") for line in _newest_first(lines, attempt))
    return next((each for each in found if isinstance(each, dict)), {})


def failure(lines: Sequence[Line], attempt: int) -> tuple[str, tuple[int, ...]]:
    """Find the error that ended a program in an attempt, and the ranks of its lost peers."""
    failures = (e for e in _newest_first(lines, attempt) if e.get("event") == "failed")
    line = next(failures, {})
    if line.get("error") == _TOLD_TO_END:
        return "", ()
    told = [str(line[key]) for key in ("error", "text") if line.get(key)]
    ranks = line.get(PEERS)
    missed = ranks if isinstance(ranks, list) else []
    return shortened(": ".join(told)), tuple(each for each in missed if isinstance(each, int))


def last_step(lines: Sequence[Line], attempt: int) -> int | None:
    """Find the last step of a program in an attempt; None without a step."""
    steps = (line.get("step") for line in _newest_first(lines, attempt))
    return next((each for each in steps if isinstance(each, int)), None)


def _newest_first(lines: Sequence[Line], attempt: int) -> Iterator[Line]:
    return (line for line in reversed(lines) if line.get("attempt") == attempt)


def _files(folder: Location, attempts: int) -> list[_File]:
    names = [(_NAME.fullmatch(each.location.name), each) for each in entries(folder / "progress")]
    files = [_File(int(n[1]), int(n[2] or 0), each.location) for n, each in names if n]
    launched = {file.owner: file for file in sorted(files) if file.number}
    alone = [file for file in sorted(files) if not file.number]
    return [*alone, *[*launched.values()][-attempts:]]


def _read(file: _File) -> bytes | None:
    try:
        with open_read(file.location) as opened:
            opened.seek(max(0, opened.seek(0, 2) - MOST_BYTES))
            return opened.read(MOST_BYTES)
    except NotFound:
        return None
