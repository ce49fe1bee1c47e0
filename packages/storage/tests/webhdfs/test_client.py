from __future__ import annotations

import json
import pwd
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from audioloom_storage import Location, NotConfigured, locate, stat
from audioloom_storage.webhdfs import client

_FILE = {
    "type": "FILE",
    "length": 7,
    "modificationTime": 1,
    "permission": "644",
    "owner": "anna",
}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The headers that name a user, of each request to the page."""
    monkeypatch.setattr(client, "_KNOWN", {})
    return []


@pytest.fixture
def page(asked: list[str]) -> Iterator[Location]:
    """A page that has one file at every path."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.headers.get("Authorization", ""))
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps({"FileStatus": _FILE}).encode())

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield locate(f"webhdfs://127.0.0.1:{server.server_port}/a")
        server.shutdown()


def test_no_proxy_stands_between(
    page: Location, asked: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nor is a password sent that somebody keeps for another service of that machine."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{nobody.getsockname()[1]}")
        monkeypatch.delenv("no_proxy", raising=False)
        (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password secret")
        monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
        assert 7 == stat(page).size
    assert [""] == asked


def test_a_user_without_a_name_is_told(page: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container that runs by a number which its image does not know."""
    for name in ("HADOOP_USER_NAME", "LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)

    def unknown(number: int) -> None:
        raise KeyError(f"getpwuid(): uid not found: {number}")

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    with pytest.raises(NotConfigured, match="Set HADOOP_USER_NAME"):
        stat(page)
    monkeypatch.setenv("HADOOP_USER_NAME", "anna")
    assert 7 == stat(page).size
