import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from audioloom_storage import StorageError, locate, make_folder
from audioloom_yarn_launcher.monitoring.log_reader import log_files
from audioloom_yarn_launcher.runs.layout import log_name
from audioloom_yarn_launcher.system.files import is_full, tail
from audioloom_yarn_launcher.worker import log as worker_log
from audioloom_yarn_launcher.worker.log import DirectLog, PublishedLog, open_log


def test_a_person_is_told_a_name_that_finds_it() -> None:
    """In HDFS a pattern, which `hdfs dfs -cat` understands."""
    assert "logs/0.1.log" == log_name(locate("/runs/x"), 0, 1)
    assert "logs/0.1.*.log" == log_name(locate("hdfs://nn/runs/x"), 0, 1)


def test_a_log_is_never_written_twice(tmp_path: Path) -> None:
    """A rank and attempt that ran before is refused, and its log stays."""
    log = open_log(locate(tmp_path), 0, 1)
    os.write(log.output, b"first\n")
    log.close()
    with pytest.raises(FileExistsError):
        open_log(locate(tmp_path), 0, 1)
    assert "first\n" == (tmp_path / "logs/0.1.log").read_text()


def test_on_a_file_system_the_log_is_there_while_it_is_written(tmp_path: Path) -> None:
    """So it survives whatever dies."""
    log = open_log(locate(tmp_path), 1, 2)
    assert isinstance(log, DirectLog)
    os.write(log.output, b"line\n")
    assert "line\n" == (tmp_path / "logs/1.2.log").read_text()
    log.close()


def test_elsewhere_it_is_published_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pieces follow each other without loss, in the order of their numbers."""
    monkeypatch.setattr(worker_log, "LOOK_EVERY_S", 0.01)
    monkeypatch.setattr(worker_log, "MOST_WAITING_BYTES", 1000)
    folder = locate(tmp_path)
    make_folder(folder / "logs")
    log = PublishedLog(folder / "logs", 0, 1)
    written = b""
    while len(log_files(folder, 1, None)) < 11:
        line = b"%d " % len(written) * 50 + b"\n"
        os.write(log.output, line)
        written += line
    log.close()
    pieces = log_files(folder, 1, None)
    assert list(range(len(pieces))) == [piece.piece for piece in pieces]
    read = b"".join(Path(piece.location.path).read_bytes() for piece in pieces)
    assert written == read


def test_what_is_started_anew_goes_on_with_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in pieces; a node would show the new process alone, so it is not asked."""
    for name in ("NM_HOST", "NM_HTTP_PORT", "CONTAINER_ID"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("LOG_DIRS", str(tmp_path))
    folder = locate(tmp_path)
    make_folder(folder / "logs")
    for again in (False, True):
        log = open_log(folder, 0, 1, again=again)
        os.write(log.output, b"line\n")
        log.close()
        in_pieces = PublishedLog(folder / "logs", 1, 1, again=again)
        assert ("" == in_pieces.page) == again
        os.write(in_pieces.output, b"line\n")
        in_pieces.close()
    assert "line\nline\n" == (tmp_path / "logs/0.1.log").read_text()
    assert [0, 1] == [each.piece for each in log_files(folder, 1, 1)]


def test_why_a_log_is_not_mirrored_is_told_without_secrets_and_controls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The storage's words come from outside."""

    def fails(*_: object, **__: object) -> None:
        raise StorageError("no access with --token hunter2 \x9b2J")

    monkeypatch.setattr(worker_log, "create", fails)
    log = PublishedLog(locate(tmp_path) / "logs", 0, 1)
    log.close()
    told = "log not published yet: no access with --token ********** \\x9b2J\n"
    assert told == capsys.readouterr().err


def test_a_storage_that_fails_costs_no_line(tmp_path: Path) -> None:
    """What could not be published is in the next piece."""
    logs = locate(tmp_path) / "logs"
    log = PublishedLog(logs, 0, 1)
    (tmp_path / "logs").write_text("in the way")
    os.write(log.output, b"one\n")
    log.publish()
    (tmp_path / "logs").unlink()
    os.write(log.output, b"two\n")
    log.close()
    assert ["one\ntwo\n"] == [path.read_text() for path in (tmp_path / "logs").iterdir()]


@pytest.mark.parametrize(
    ("limit", "expected"), [(100, "one\ntwo\nthree"), (10, "three"), (3, "ee"), (0, "")]
)
def test_a_tail_is_whole_lines(tmp_path: Path, limit: int, expected: str) -> None:
    """Unless the last one alone is too long."""
    path = tmp_path / "log"
    path.write_text("one\ntwo\nthree\n")
    with path.open("rb") as file:
        assert expected == tail(file.fileno(), limit)


def test_who_said_nothing_has_an_empty_log(tmp_path: Path) -> None:
    """So nobody takes it for a log that was lost."""
    folder = locate(tmp_path)
    make_folder(folder / "logs")
    PublishedLog(folder / "logs", 0, 1).close()
    assert [b""] == [Path(each.location.path).read_bytes() for each in log_files(folder, 1, None)]


def test_in_a_container_its_node_shows_what_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the folder of its own logs, until all of it stands in the run folder."""
    shown = tmp_path / "shown"
    shown.mkdir()
    variables = {"LOG_DIRS": f"{shown},/elsewhere", "NM_HOST": "n1", "NM_HTTP_PORT": "8042"}
    for name, value in {**variables, "CONTAINER_ID": "container_1_1_01_000002"}.items():
        monkeypatch.setenv(name, value)
    log = PublishedLog(locate(tmp_path) / "logs", 0, 1)
    assert "n1:8042/ws/v1/node/containers/container_1_1_01_000002/logs/0.1.log" == log.page
    os.write(log.output, b"said\n")
    assert "said\n" == (shown / "0.1.log").read_text()
    other = PublishedLog(locate(tmp_path) / "other", 0, 1)
    assert "" == other.page  # there is one already, of another
    other.close()
    log.close()
    assert [] == [*shown.iterdir()]
    assert "said\n" == (tmp_path / "logs/0.1.0.log").read_text()


@pytest.mark.parametrize(("free_bytes", "full"), [(0, True), (1 << 19, True), (1 << 30, False)])
def test_a_disk_without_room_is_told_from_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free_bytes: int, full: bool
) -> None:
    """By what users may still write there."""
    left = SimpleNamespace(f_bavail=free_bytes // 4096, f_frsize=4096)
    monkeypatch.setattr(os, "fstatvfs", lambda _: left)
    with (tmp_path / "log").open("wb") as file:
        assert full == is_full(file.fileno())
