"""Read the newest output of workers from their nodes' web pages: on HDFS a log's pieces come late.

With Kerberos, or where users cannot read each other's logs, a node shows nothing, and only the
pieces are left. A worker reports the address of its page with its status.
"""

import re
import time

from audioloom_storage import Location

from audioloom_yarn_launcher.monitoring.progress import read_progress, usage
from audioloom_yarn_launcher.yarn.container_logs import last_bytes, scheme_of_pages

EVERY_S, SEARCH_EVERY_S = 1.0, 3.0
PAGES_A_SECOND = 100
AHEAD_BYTES, MOST_BYTES = 1 << 16, 16 << 20
_PAGE = re.compile(r"[^/@?#\s]+:[0-9]+/ws/v1/node/containers/container_[0-9a-z_]+/logs/[0-9.]+log")


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
