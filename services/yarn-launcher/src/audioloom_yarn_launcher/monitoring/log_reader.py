"""Read the logs of a run's workers in its folder, whole or in pieces."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from audioloom_storage import Location, NotFound, list_folder, open_read

MOST_LINE_BYTES, CHUNK_BYTES = 1 << 16, 1 << 20
_LOG = re.compile(r"([0-9]+)\.([0-9]+)(?:\.([0-9]+))?\.log")


@dataclass(frozen=True, order=True)
class LogFile:
    """A log, or a numbered piece of one, with its size when it was listed."""

    rank: int
    attempt: int
    piece: int
    location: Location
    size: int = field(default=0, compare=False)

    @property
    def log(self) -> tuple[int, int]:
        """Rank and attempt of the log."""
        return self.rank, self.attempt


def log_files(folder: Location, attempt: int, rank: int | None) -> list[LogFile]:
    """List the logs of an attempt, by rank and piece."""
    try:
        entries = [(_LOG.fullmatch(e.location.name), e) for e in list_folder(folder / "logs")]
    except NotFound:
        return []
    files = [
        LogFile(int(match[1]), int(match[2]), int(match[3] or 0), entry.location, entry.size)
        for match, entry in entries
        if match
    ]
    return sorted(f for f in files if f.attempt == attempt and rank in (None, f.rank))


class Stream:
    """Reads the log of one worker from its start, piece after piece.

    Attributes:
        position: number of bytes read.
    """

    def __init__(self) -> None:
        self.position = 0
        self._rest = b""

    def read(self, files: Sequence[LogFile]) -> Iterator[str]:
        """Yield the new whole lines in these files of the worker, in order."""
        start = 0
        for file in files:
            end = start + file.size
            if self.position < end:
                with open_read(file.location) as opened:
                    opened.seek(self.position - start)
                    while self.position < end:
                        data = opened.read(min(CHUNK_BYTES, end - self.position))
                        if not data:
                            break
                        yield from self.take(data)
            start = end

    def take(self, data: bytes) -> Iterator[str]:
        """Yield the whole lines that the next bytes complete."""
        self.position += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        yield from map(_text, lines)
        if len(self._rest) >= MOST_LINE_BYTES:
            yield from self.rest()

    def rest(self) -> Iterator[str]:
        """Yield the last, unfinished line."""
        if self._rest:
            yield _text(self._rest)
        self._rest = b""


def last_lines(folder: Location, attempt: int, rank: int, most_bytes: int) -> list[str]:
    """Read the whole lines in the last *most_bytes* of a worker's output in an attempt."""
    data = b""
    for file in reversed(log_files(folder, attempt, rank)):
        left = most_bytes - len(data)
        if left <= 0:
            break
        with open_read(file.location) as opened:
            opened.seek(max(0, file.size - left))
            data = opened.read(left) + data
    cut = len(data) == most_bytes
    return [*map(_text, data.splitlines())][1 if cut else 0 :]


def _text(line: bytes) -> str:
    return line.decode("utf-8", "surrogateescape")
