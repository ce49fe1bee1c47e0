"""A web server for tests: Python's own, with pages of links and with ranges."""

from __future__ import annotations

import io
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, BinaryIO

_RANGE = re.compile(r"bytes=(\d+)-(\d+)")


@contextmanager
def running_web(folder: Path, *, ranges: bool = True) -> Iterator[str]:
    """Serve a folder on the loopback; yield its address, `http://127.0.0.1:PORT`.

    Args:
        folder: of the files.
        ranges: Python's server sends whole files, as without this.
    """
    handler = partial(_Ranges if ranges else _Whole, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class _Whole(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


class _Ranges(_Whole):
    def send_head(self) -> Any:
        asked = _RANGE.fullmatch(self.headers.get("Range", ""))
        path = Path(self.translate_path(self.path))
        if asked is None or not path.is_file():
            return super().send_head()
        first, last = map(int, asked.groups())
        size = path.stat().st_size
        last = min(last, size - 1)
        with path.open("rb") as file:
            file.seek(first)
            piece: BinaryIO = io.BytesIO(file.read(last + 1 - first))
        self.send_response(HTTPStatus.PARTIAL_CONTENT)
        self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        self.send_header("Content-Length", str(last + 1 - first))
        self.send_header("Last-Modified", self.date_time_string(int(path.stat().st_mtime)))
        self.end_headers()
        return piece
