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
from audioloom_yarn_launcher.monitoring import log_reader
from audioloom_yarn_launcher.monitoring.log_reader import (
    MOST_LINE_BYTES,
    Log,
    NodeLogs,
    last_lines,
    read_from,
)
from hypothesis import given
from hypothesis import strategies as st


def write(folder: Path, *pieces: bytes) -> None:
    (folder / "logs/0").mkdir(parents=True, exist_ok=True)
    begin = 0
    for piece in pieces:
        (folder / f"logs/0/1.{begin}-{begin + len(piece)}.log").write_bytes(piece)
        begin += len(piece)


def log_in(folder: Path) -> Log:
    log = Log(locate(folder), 0, 1)
    log.look()
    return log


def read(log: Log) -> list[str]:
    """All whole lines that are there now."""
    lines = log.read()
    while log.position < log.end:
        lines += log.read()
    return lines


def test_there_may_be_no_log(tmp_path: Path) -> None:
    """Nobody has said anything yet, or only other ranks and attempts have."""
    assert ([], 0) == (log_in(tmp_path).files, log_in(tmp_path).end)
    assert [] == last_lines(locate(tmp_path), 0, 1, 100)
    write(tmp_path, b"one\n")
    for rank, attempt in ((1, 1), (0, 2), (0, 11)):
        assert [] == last_lines(locate(tmp_path), rank, attempt, 100)


def test_a_line_without_end_is_left_for_later_and_no_byte_is_lost(tmp_path: Path) -> None:
    """Bytes without meaning survive; a line that is cut by the end of a piece is one line."""
    write(tmp_path, b"one\n\xff\r\ntw")
    log = log_in(tmp_path)
    assert ["one", "\udcff\r"] == read(log)
    log.look()
    assert [] == read(log)
    write(tmp_path, b"one\n\xff\r\ntw", b"o\nthree")
    log.look()
    assert ["two"] == read(log)
    assert ["three"] == [*log.rest()]
    assert [] == [*log.rest()]


def test_a_log_that_was_truncated_is_read_from_its_start(tmp_path: Path) -> None:
    """A script that writes to `> /dev/stderr` does so, and goes on."""
    file = tmp_path / "logs/0/1.log"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"one\ntwo\nthr")
    log = log_in(tmp_path)
    assert ["one", "two"] == read(log)
    file.write_bytes(b"new\n")
    log.look()
    assert ["new"] == read(log)
    assert [] == [*log.rest()]


def test_what_was_taken_elsewhere_is_not_read_again(tmp_path: Path) -> None:
    """A node is ahead of the pieces that come after it."""
    log = Log(locate(tmp_path), 0, 1)
    assert ["one"] == [*log.take(b"one\ntwo")]
    write(tmp_path, b"one\n", b"two and\nthree\n")
    log.look()
    assert ["two and", "three"] == read(log)


def test_pieces_that_were_merged_meanwhile_are_found_again(tmp_path: Path) -> None:
    """Though they were listed a moment ago."""
    write(tmp_path, b"one\ntw", b"o\n")
    log = log_in(tmp_path)
    for path in (tmp_path / "logs/0").iterdir():
        path.unlink()
    write(tmp_path, b"one\ntwo\n")
    assert ["one", "two"] == read(log)


def test_a_file_that_was_cut_off_holds_nobody_up(tmp_path: Path) -> None:
    """A user may have emptied the log on a full disk."""
    write(tmp_path, b"one\n")
    log = log_in(tmp_path)
    (tmp_path / "logs/0/1.0-4.log").write_bytes(b"")
    assert [] == read(log)


def test_a_line_that_never_ends_is_cut(tmp_path: Path) -> None:
    """A progress bar that is drawn over itself may be one."""
    lines = Log(locate(tmp_path), 0, 1).take(b"x" * MOST_LINE_BYTES)
    assert [MOST_LINE_BYTES] == [len(line) for line in lines]


@given(st.lists(st.binary(max_size=20), max_size=6), st.integers(1, 7))
def test_however_it_is_cut_the_same_lines_come(pieces: list[bytes], step: int) -> None:
    """Into pieces, or by what a node shows at a time."""
    whole = b"".join(pieces)
    log = Log(locate("/nowhere"), 0, 1)
    lines = [line for i in range(0, len(whole), step) for line in log.take(whole[i : i + step])]
    lines += log.rest()
    expected = whole.removesuffix(b"\n").split(b"\n") if whole else []
    assert [line.decode("utf-8", "surrogateescape") for line in expected] == lines


def test_the_last_lines_are_whole(tmp_path: Path) -> None:
    """Across the end of a piece."""
    write(tmp_path, b"first\nsecond\nthi", b"rd\nfourth\n")
    folder = locate(tmp_path)
    assert ["first", "second", "third", "fourth"] == last_lines(folder, 0, 1, 1000)
    assert ["third", "fourth"] == last_lines(folder, 0, 1, 16)


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
    monkeypatch.setattr(log_reader, "AHEAD_BYTES", 10)
    monkeypatch.setattr(log_reader, "MOST_BYTES", 100)
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
