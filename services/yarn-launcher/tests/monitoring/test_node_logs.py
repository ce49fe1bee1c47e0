import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from audioloom_storage import locate
from audioloom_yarn_launcher.monitoring import node_logs
from audioloom_yarn_launcher.monitoring.node_logs import NodeLogs, read_from

PATH = "/ws/v1/node/containers/container_1_1_01_000002/logs/0.1.log"


@dataclass
class Node:
    """What shows a log as a NodeManager does."""

    address: str
    log: bytes = b""
    asked: list[int] = field(default_factory=list)
    page: str = ""


@pytest.fixture
def node() -> Iterator[Node]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            size = int(re.findall(r"\?size=-([0-9]+)$", self.path)[0])
            found.asked.append(size)
            if not self.path.startswith(f"{PATH}?"):
                self.send_error(404)
                return
            head = f"Container: c on n\nLogType:0.1.log\nLogLength:{len(found.log)}\nLogContents:\n"
            self.send_response(200)
            self.end_headers()
            tail = b"\nEnd of LogType:0.1.log.This log file belongs to a running container\n"
            self.wfile.write(head.encode() + found.log[-size:] + tail)

        def log_message(self, *_: object) -> None:
            return None

    server = HTTPServer(("127.0.0.1", 0), Handler)
    found = Node(f"127.0.0.1:{server.server_port}")
    found.page = f"http://{found.address}{PATH}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield found
    server.shutdown()
    server.server_close()


def test_a_node_that_does_not_answer_costs_nothing(node: Node) -> None:
    """The pieces come anyway."""
    assert b"" == read_from("http://127.0.0.1:1/x", 0)
    assert b"" == read_from(node.page.replace("0.1.log", "9.1.log"), 0)


def test_what_is_new_is_read(node: Node) -> None:
    """By the last bytes, of which those that are known are left out."""
    node.log = b"one\nLogContents:\ntwo\n"
    assert node.log == read_from(node.page, 0)
    assert b"two\n" == read_from(node.page, len(node.log) - 4)
    assert b"" == read_from(node.page, len(node.log))


def test_when_much_came_more_is_asked_for(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """But not without measure: the rest comes in pieces."""
    monkeypatch.setattr(node_logs, "AHEAD_BYTES", 10)
    monkeypatch.setattr(node_logs, "MOST_BYTES", 100)
    node.log = b"x" * 80
    assert node.log[5:] == read_from(node.page, 5)
    node.log = b"x" * 800
    assert b"" == read_from(node.page, 5)
    assert max(node.asked) <= 100


@pytest.mark.parametrize(
    ("page", "read"),
    [
        ("{address}" + PATH, b"said\n"),
        ("{address}/other", b""),
        ("user@{address}" + PATH, b""),
        (7, b""),
        (None, b""),
    ],
)
def test_the_address_is_the_one_that_the_worker_noted(
    node: Node, tmp_path: Path, answers: Any, page: Any, read: bytes
) -> None:
    """Nothing else is asked for; and of a run on a file system, nobody."""
    node.log = b"said\n"
    told = page.format(address=node.address) if isinstance(page, str) else page
    line = {"rank": 0, "attempt": 1, "usage": {"log_url": told}}
    (tmp_path / "progress").mkdir()
    (tmp_path / "progress/1.1.jsonl").write_text(json.dumps(line))
    for scheme, expected in ((None, b""), ("http", read)):
        logs = NodeLogs(locate(tmp_path), 1, scheme)
        assert b"" == logs.read(0, 0)  # nobody has looked for pages yet
        logs.search()
        assert expected == logs.read(0, 0)
        assert b"" == logs.read(0, 0)  # not at once again
