from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from types import SimpleNamespace

import pytest
from audioloom_hadoop import rest
from audioloom_hadoop.rest import ask, fetch, queues, rows


@dataclass
class Daemon:
    """Answers every request in one way, and keeps what it was asked."""

    page: str
    code: int = 200
    body: bytes = b"{}"
    asked: list[tuple[str, str | None]] = field(default_factory=list)


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.asked.append((self.path, self.headers["Accept"]))
            self.send_response(found.code)
            self.end_headers()
            self.wfile.write(found.body)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        found = Daemon(f"http://127.0.0.1:{server.server_port}")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield found
        server.shutdown()


@pytest.fixture
def nobody() -> Iterator[str]:
    """A page that nobody answers at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{free.getsockname()[1]}"


@pytest.mark.parametrize(
    ("code", "body", "expected"),
    [
        (200, b'{"app": 1}', {"app": 1}),
        (404, b"no such thing", {}),
        (401, b"{}", None),
        (500, b"{}", None),
        (200, b'["a list"]', None),
        (200, b"<html>", None),
        (200, b"\xff", None),
    ],
)
def test_an_answer_is_an_object_or_that_there_is_none(
    daemon: Daemon, code: int, body: bytes, expected: object
) -> None:
    """What is refused or not understood is not known."""
    daemon.code, daemon.body = code, body
    assert expected == ask([daemon.page], "/ws/v1/cluster/info")
    assert [("/ws/v1/cluster/info", "application/json")] == daemon.asked


def test_the_first_that_answers_is_asked(daemon: Daemon, nobody: str) -> None:
    """Of two ResourceManagers one is down, or has no configuration that leads anywhere."""
    assert {} == ask([nobody, "no page", daemon.page, nobody], "/x", within_s=5)
    assert ask([nobody], "/x") is None
    assert ask([], "/x") is None


def test_no_proxy_stands_between(
    daemon: Daemon, nobody: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the machine has one for the world outside, the cluster is not there."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, nobody)
    monkeypatch.delenv("no_proxy", raising=False)
    daemon.body = b'{"app": 1}'
    assert {"app": 1} == ask([daemon.page], "/x")
    assert b'{"app": 1}' == fetch(f"{daemon.page}/x")


def test_an_answer_without_end_is_cut_off(daemon: Daemon) -> None:
    """A daemon fills no memory of ours."""
    daemon.body = b"x" * 1_000_000
    assert b"xxx" == fetch(f"{daemon.page}/x", most_bytes=3)


def test_who_says_nothing_is_not_waited_for() -> None:
    """A daemon that hangs takes connections all the same."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        page = f"http://127.0.0.1:{silent.getsockname()[1]}"
        assert ask([page], "/x", within_s=0.2) is None


def test_an_answer_that_never_ends_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon may send a byte now and then, so that it is never silent for long."""
    # At each look a minute has passed: on a busy machine the server would be silent for too long.
    monkeypatch.setattr(rest, "time", SimpleNamespace(monotonic=count(0, 60).__next__))
    with socket.create_server(("127.0.0.1", 0)) as server:

        def trickle() -> None:
            connection, _ = server.accept()
            with connection, suppress(OSError):
                connection.recv(1 << 16)
                connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                while True:
                    connection.sendall(b" ")
                    time.sleep(0.01)

        thread = threading.Thread(target=trickle, daemon=True)
        thread.start()
        with pytest.raises(TimeoutError, match="no end"):
            fetch(f"http://127.0.0.1:{server.getsockname()[1]}/x", within_s=30)
        thread.join()


@pytest.mark.parametrize(
    "said",
    [
        b"no HTTP\r\n\r\n",
        b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\n{"app":',
        b'HTTP/1.1 200 OK\r\nContent-Length: 64\r\n\r\n{"app": 1}',
    ],
)
def test_a_daemon_that_dies_in_the_middle_of_its_answer_does_not_answer(said: bytes) -> None:
    """The next one is asked; who wants the page gets an OSError."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            for _ in range(2):
                connection, _ = server.accept()
                with connection:
                    connection.recv(1 << 16)
                    connection.sendall(said)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        page = f"http://127.0.0.1:{server.getsockname()[1]}"
        assert ask([page], "/x") is None
        with pytest.raises(OSError, match=r"BadStatusLine|IncompleteRead"):
            fetch(f"{page}/x")
        thread.join()


def test_one_element_may_stand_for_a_list() -> None:
    """As older ResourceManagers write it."""
    one, two = {"a": 1}, {"b": 2}
    assert [one, two] == rows([one, "what", two])
    assert [one] == rows(one)
    assert [] == rows(None) == rows(json.loads("[]"))


def test_a_queue_comes_with_the_queues_above_it() -> None:
    """In whatever form its ResourceManager lists them; without an answer there is none."""
    team = {"name": "team", "queues": {"queue": {"name": "leaf"}}}
    root = {"name": "root", "queues": {"queue": [team, {"name": "default", "queues": None}]}}
    found = queues({"scheduler": {"schedulerInfo": root}})
    assert [
        ["root"],
        ["root", "team"],
        ["root", "default"],
        ["root", "team", "leaf"],
    ] == [[each["name"] for each in path] for path in found]
    assert [] == [*queues(None)] == [*queues({"scheduler": {}})]
