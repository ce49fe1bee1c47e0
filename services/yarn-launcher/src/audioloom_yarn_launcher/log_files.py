"""The logs of a run's workers, as they lie in its folder: whole, or in pieces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from audioloom_storage import Location, NotFound, list_folder, open_read

MOST_LINE_BYTES = 1 << 16
_LOG = re.compile(r"([0-9]+)\.([0-9]+)(?:\.([0-9]+))?\.log")


@dataclass(frozen=True, order=True)
class LogFile:
    """A log, or a piece of one (then with a number)."""

    rank: int
    attempt: int
    piece: int
    location: Location


def log_files(folder: Location, attempt: int, rank: int | None) -> list[LogFile]:
    """The logs of an attempt, by rank and piece."""
    try:
        names = [
            (_LOG.fullmatch(e.location.name), e.location) for e in list_folder(folder / "logs")
        ]
    except NotFound:
        return []
    files = [
        LogFile(int(match[1]), int(match[2]), int(match[3] or 0), location)
        for match, location in names
        if match
    ]
    return sorted(f for f in files if f.attempt == attempt and rank in (None, f.rank))


def lines_of(file: LogFile, position: int, *, whole: bool) -> Iterator[tuple[str, int]]:
    """The lines from a position on, each with the position after it.

    Args:
        file: a log.
        position: in bytes.
        whole: leave out a line that has no end yet.
    """
    with open_read(file.location) as opened:
        opened.seek(position)
        while line := opened.readline(MOST_LINE_BYTES):
            ended = line.endswith(b"\n")
            if whole and not ended and len(line) < MOST_LINE_BYTES:
                return
            position += len(line)
            yield line.decode("utf-8", "surrogateescape").removesuffix("\n"), position


def last_lines(folder: Location, attempt: int, rank: int, most_bytes: int) -> list[str]:
    """The whole lines among the last bytes that a worker wrote in an attempt."""
    lines: list[str] = []
    left = most_bytes
    for file in reversed(log_files(folder, attempt, rank)):
        with open_read(file.location) as opened:
            size = opened.seek(0, 2)
            opened.seek(max(0, size - left))
            text = opened.read(left).decode("utf-8", "replace")
        lines = [*text.splitlines()[1 if size > left else 0 :], *lines]
        left -= size
        if left <= 0:
            break
    return lines
