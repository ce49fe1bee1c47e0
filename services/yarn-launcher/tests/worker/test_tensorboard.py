import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from audioloom_storage import locate
from audioloom_yarn_launcher.errors import StoreLost
from audioloom_yarn_launcher.worker.tensorboard import TensorBoard, answers, follow
from launcher_processes import until


@pytest.fixture
def server() -> Iterator[http.server.HTTPServer]:
    """A page that knows of nothing, and says so."""
    server = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_events_that_are_not_there_yet_are_no_error(tmp_path: Path) -> None:
    """The training has just begun."""
    follow(locate(tmp_path / "none"), tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_what_comes_to_the_events_is_added_to_the_copy(tmp_path: Path) -> None:
    """To files that grow, and new ones; and nothing else is taken along."""
    events, copy = tmp_path / "events", tmp_path / "copy"
    (events / "train").mkdir(parents=True)
    first = events / "train/events.out.tfevents.1"
    first.write_text("one")
    (events / "train/notes").write_text("none of its business")
    follow(locate(events), copy)
    before = (copy / "train/events.out.tfevents.1").stat().st_ino
    first.write_text("one and two")
    (events / "train/events.out.tfevents.2").write_text("three")
    follow(locate(events), copy)
    found = {path.name: path.read_text() for path in (copy / "train").iterdir()}
    assert {"events.out.tfevents.1": "one and two", "events.out.tfevents.2": "three"} == found
    assert before == (copy / "train/events.out.tfevents.1").stat().st_ino  # who reads it goes on


def test_a_command_learns_what_to_read_and_where_to_listen(tmp_path: Path) -> None:
    """What lies on this machine is read where it lies, all else in a copy."""
    here = TensorBoard(locate(tmp_path), "n1", 6006, str)
    command = ("tensorboard", "--logdir={events}", "--host={host}", "--port={port}", "{else}")
    events = f"--logdir={tmp_path}/logs/tensorboard"
    expected = ("tensorboard", events, "--host=n1", "--port=6006", "{else}")
    assert expected == here.fill_in(command)
    far = TensorBoard(locate("hdfs://nn/run"), "n1", 6006, str, below=tmp_path)
    assert tmp_path == far.folder.parent
    far.close()
    assert not far.folder.exists()


def test_a_page_is_shown_when_it_answers(tmp_path: Path, server: Any) -> None:
    """Whatever it says, by the address that the others have."""
    shown: list[str] = []
    board = TensorBoard(
        locate(tmp_path), "127.0.0.1", server.server_port, lambda page: f"of {page}"
    )
    board.begin(shown.append)
    until(lambda: shown, "it is shown")
    assert [f"of http://127.0.0.1:{server.server_port}/"] == shown
    board.close()


def test_a_page_that_nobody_can_show_is_told(
    tmp_path: Path, server: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """It answers nevertheless, and the process goes on."""

    def show(_: str) -> str:
        raise StoreLost("gone")

    said: list[str] = []
    board = TensorBoard(locate(tmp_path), "127.0.0.1", server.server_port, show)

    def told() -> str:
        said.append(capsys.readouterr().err)
        return "".join(said)

    board.begin(lambda page: said.append(f"seen at {page}"))
    until(lambda: "the page cannot be shown: gone" in told(), "it is told")
    assert "seen at" not in told()
    board.close()


def test_nobody_answers_where_nobody_listens(server: Any) -> None:
    """An address that is none does not, either."""
    server.shutdown()
    server.server_close()
    assert not answers("127.0.0.1", server.server_port)
    assert not answers("no such host", 80)
