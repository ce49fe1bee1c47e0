import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from audioloom_storage import locate
from audioloom_yarn_launcher.monitoring.log_reader import Log, LogFile
from audioloom_yarn_launcher.runs.layout import log_name
from audioloom_yarn_launcher.system.files import is_full, tail
from audioloom_yarn_launcher.worker import log as worker_log
from audioloom_yarn_launcher.worker import log_pieces
from audioloom_yarn_launcher.worker.log import DirectLog, PublishedLog, open_log
from launcher_processes import until


def files(folder: Path, rank: int) -> list[LogFile]:
    """The files of the log of a rank in attempt 1."""
    log = Log(locate(folder), rank, 1)
    log.look()
    return log.files


def test_a_person_is_told_a_name_that_finds_it() -> None:
    """In HDFS a pattern, which `hdfs dfs -cat` understands."""
    assert "logs/0/1.log" == log_name(locate("/runs/x"), 0, 1)
    assert "logs/0/1.*.log" == log_name(locate("hdfs://nn/runs/x"), 0, 1)


def test_a_log_is_never_written_twice(tmp_path: Path) -> None:
    """A rank and attempt that ran before is refused, and its log stays."""
    log = open_log(locate(tmp_path), 0, 1)
    os.write(log.output, b"first\n")
    log.close()
    with pytest.raises(FileExistsError):
        open_log(locate(tmp_path), 0, 1)
    assert "first\n" == (tmp_path / "logs/0/1.log").read_text()


def test_on_a_file_system_the_log_is_there_while_it_is_written(tmp_path: Path) -> None:
    """So it survives whatever dies."""
    log = open_log(locate(tmp_path), 1, 2)
    assert isinstance(log, DirectLog)
    os.write(log.output, b"line\n")
    assert "line\n" == (tmp_path / "logs/1/2.log").read_text()
    log.close()


def test_elsewhere_it_is_published_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a thread, while the process writes, and the rest at its end."""
    monkeypatch.setattr(worker_log, "LOOK_EVERY_S", 0.01)
    monkeypatch.setattr(log_pieces, "FIRST_WAIT_S", 0.01)
    log = PublishedLog(locate(tmp_path), 0, 1)
    os.write(log.output, b"one\n")
    until(lambda: files(tmp_path, 0), "a piece")
    os.write(log.output, b"two\n")
    log.close()
    assert b"one\ntwo\n" == b"".join(
        Path(each.location.path).read_bytes() for each in files(tmp_path, 0)
    )


def test_what_is_started_anew_goes_on_with_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in pieces; a node would show the new process alone, so it is not asked."""
    for name in ("NM_HOST", "NM_HTTP_PORT", "CONTAINER_ID"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("LOG_DIRS", str(tmp_path))
    for again in (False, True):
        log = open_log(locate(tmp_path), 0, 1, again=again)
        os.write(log.output, b"line\n")
        log.close()
        in_pieces = PublishedLog(locate(tmp_path), 1, 1, again=again)
        assert ("" == in_pieces.page) == again
        os.write(in_pieces.output, b"line\n")
        in_pieces.close()
    assert "line\nline\n" == (tmp_path / "logs/0/1.log").read_text()
    assert [(0, 5), (5, 10)] == [(each.begin, each.end) for each in files(tmp_path, 1)]


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
    PublishedLog(locate(tmp_path), 0, 1).close()
    assert [b""] == [Path(each.location.path).read_bytes() for each in files(tmp_path, 0)]


def test_in_a_container_its_node_shows_what_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the folder of its own logs, until all of it stands in the run folder."""
    shown = tmp_path / "shown"
    shown.mkdir()
    variables = {"LOG_DIRS": f"{shown},/elsewhere", "NM_HOST": "n1", "NM_HTTP_PORT": "8042"}
    for name, value in {**variables, "CONTAINER_ID": "container_1_1_01_000002"}.items():
        monkeypatch.setenv(name, value)
    log = PublishedLog(locate(tmp_path), 0, 1)
    assert "n1:8042/ws/v1/node/containers/container_1_1_01_000002/logs/0.1.log" == log.page
    os.write(log.output, b"said\n")
    assert "said\n" == (shown / "0.1.log").read_text()
    other = PublishedLog(locate(tmp_path / "other"), 0, 1)
    assert "" == other.page  # there is one already, of another
    other.close()
    log.close()
    assert [] == [*shown.iterdir()]
    assert ["said\n"] == [path.read_text() for path in (tmp_path / "logs/0").iterdir()]


@pytest.mark.parametrize(("free_bytes", "full"), [(0, True), (1 << 19, True), (1 << 30, False)])
def test_a_disk_without_room_is_told_from_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free_bytes: int, full: bool
) -> None:
    """By what users may still write there."""
    left = SimpleNamespace(f_bavail=free_bytes // 4096, f_frsize=4096)
    monkeypatch.setattr(os, "fstatvfs", lambda _: left)
    with (tmp_path / "log").open("wb") as file:
        assert full == is_full(file.fileno())
