"""Read the log of a worker in the run folder, whole or in pieces, and newer output on its node.

On HDFS a log's pieces come late. With Kerberos, or where users cannot read each other's logs, a
node shows nothing, and only the pieces are left. A worker reports the address of its page with its
status.
"""

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass

from audioloom_storage import Location, NotFound, open_read

from audioloom_yarn_launcher.monitoring.progress import read_progress, usage
from audioloom_yarn_launcher.runs.layout import appends, entries, log_folder, log_span
from audioloom_yarn_launcher.yarn.container_logs import last_bytes, scheme_of_pages

MOST_LINE_BYTES, CHUNK_BYTES = 1 << 16, 1 << 20
EVERY_S, SEARCH_EVERY_S = 1.0, 3.0
PAGES_A_SECOND = 100
AHEAD_BYTES, MOST_BYTES = 1 << 16, 16 << 20
_PAGE = re.compile(r"[^/@?#\s]+:[0-9]+/ws/v1/node/containers/container_[0-9a-z_]+/logs/[0-9.]+log")


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
        """List the files; there may be none yet.

        A log that its process truncated (`> /dev/stderr`) is read from its start again.
        """
        found = ((log_span(entry, self.attempt), entry) for entry in entries(self._folder))
        self.files = sorted(LogFile(*span, entry.location) for span, entry in found if span)
        if appends(self._folder) and self.end < self.position:
            self.position, self._rest = 0, b""

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


class NodeLogs:
    """Reads the logs of an attempt's workers on their nodes, at most `PAGES_A_SECOND` of them.

    Args:
        scheme: of the nodes' pages; by default the cluster's scheme, or none on a file system.
    """

    def __init__(self, folder: Location, attempt: int, scheme: str | None = None) -> None:
        self._folder, self._attempt = folder, attempt
        on_files = folder.scheme == "file"
        self._scheme = scheme if scheme is not None else "" if on_files else scheme_of_pages()
        self._pages: dict[int, str] = {}
        self._next: dict[int, float] = {}
        self._search_at = 0.0

    def search(self) -> None:
        """Read the addresses of pages that workers have reported meanwhile."""
        if not self._scheme or time.monotonic() < self._search_at:
            return
        self._search_at = time.monotonic() + SEARCH_EVERY_S
        for rank, lines in read_progress(self._folder, attempts=1).items():
            page = usage(lines, self._attempt).get("log_url")
            if isinstance(page, str) and _PAGE.fullmatch(page):
                self._pages[rank] = page

    def read(self, rank: int, position: int) -> bytes:
        """Read a worker's output from a byte position on; empty if it is not available now."""
        page, now = self._pages.get(rank), time.monotonic()
        if page is None or now < self._next.get(rank, now):
            return b""
        self._next[rank] = now + max(EVERY_S, len(self._pages) / PAGES_A_SECOND)
        return read_from(f"{self._scheme}://{page}", position)


def read_from(page: str, position: int) -> bytes:
    """Read a log's page from a byte position on, although pages only serve the last n bytes."""
    size = AHEAD_BYTES
    while size <= MOST_BYTES:
        found = last_bytes(page, size)
        if found is None:
            return b""
        length, data = found
        start = length - len(data)
        if start <= position:
            return data[position - start :]
        size = max(2 * size, length - position + AHEAD_BYTES)
    return b""
