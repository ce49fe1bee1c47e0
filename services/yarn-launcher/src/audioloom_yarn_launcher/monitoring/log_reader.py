"""Read the log of a worker in the run folder, whole or in pieces."""

from collections.abc import Iterator
from dataclasses import dataclass

from audioloom_storage import Location, NotFound, open_read

from audioloom_yarn_launcher.runs.layout import entries, log_folder, log_span

MOST_LINE_BYTES, CHUNK_BYTES = 1 << 16, 1 << 20


@dataclass(frozen=True, order=True)
class LogFile:
    """A log or a piece of one: its bytes from *begin* to before *end*."""

    begin: int
    end: int
    location: Location


class Log:
    """The log of one worker in one attempt, read from its start; `position` is the next byte.

    Attributes:
        files: its files at the last `look`, in the order of their bytes; pieces may overlap.
    """

    def __init__(self, run: Location, rank: int, attempt: int) -> None:
        self.rank, self.attempt = rank, attempt
        self._folder = log_folder(run, rank)
        self.files: list[LogFile] = []
        self.position = 0
        self._rest = b""

    def look(self) -> None:
        """List the files; there may be none yet."""
        found = ((log_span(entry, self.attempt), entry) for entry in entries(self._folder))
        self.files = sorted(LogFile(*span, entry.location) for span, entry in found if span)

    @property
    def end(self) -> int:
        """The end of what its files hold."""
        return max((file.end for file in self.files), default=0)

    def read(self) -> list[str]:
        """Read the next `CHUNK_BYTES` at most; return the whole lines that they complete."""
        try:
            return [*self.take(self._chunk())]
        except NotFound:  # pieces were merged meanwhile
            self.look()
            return [*self.take(self._chunk())]

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

    def _chunk(self) -> bytes:
        file = next((each for each in self.files if each.end > self.position), None)
        if file is None:
            return b""
        self.position = max(self.position, file.begin)  # a piece before it may be lost
        with open_read(file.location) as opened:
            opened.seek(self.position - file.begin)
            data = opened.read(min(CHUNK_BYTES, file.end - self.position))
        if not data:
            self.files = []  # it is shorter than it was
        return data


def last_lines(run: Location, rank: int, attempt: int, most_bytes: int) -> list[str]:
    """Read the whole lines in the last *most_bytes* of a worker's output in an attempt."""
    log = Log(run, rank, attempt)
    lines: list[str] = []
    log.look()
    log.position = start = max(0, log.end - most_bytes)
    while log.position < log.end:
        lines += log.read()
    return [*lines, *log.rest()][1 if start else 0 :]


def _text(line: bytes) -> str:
    return line.decode("utf-8", "surrogateescape")
