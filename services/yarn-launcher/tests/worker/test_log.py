import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from types import SimpleNamespace
from typing import BinaryIO

import pytest
from audioloom_storage import Location, StorageError, UnknownOutcome, locate, publish
from audioloom_yarn_launcher.monitoring.log_reader import Log, LogFile, last_lines
from audioloom_yarn_launcher.runs.layout import log_name
from audioloom_yarn_launcher.system.files import is_full, nameless, tail
from audioloom_yarn_launcher.worker import log as worker_log
from audioloom_yarn_launcher.worker.log import (
    FIRST_WAIT_S,
    MERGE_AT,
    MOST_WAIT_S,
    DirectLog,
    LogPieces,
    PublishedLog,
    open_log,
)
from hypothesis import given, settings
from hypothesis import strategies as st
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
    monkeypatch.setattr(worker_log, "FIRST_WAIT_S", 0.01)
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


@pytest.fixture
def source() -> Iterator[int]:
    descriptor = nameless()
    yield descriptor
    os.close(descriptor)


def pieces_in(folder: Path, source: int, size: int = 1, *, again: bool = False) -> LogPieces:
    logs = locate(folder / "logs/0")
    return LogPieces(logs, 1, source, size, again=again, chance=lambda: 0.5)


def spans(folder: Path) -> list[tuple[int, int]]:
    log = Log(locate(folder), 0, 1)
    log.look()
    return [(file.begin, file.end) for file in log.files]


def test_pieces_come_more_and_more_seldom(tmp_path: Path, source: int) -> None:
    """After ten seconds, then twice as long each time, up to a limit; without output, none."""
    pieces, moments = pieces_in(tmp_path, source), []
    pieces.look(FIRST_WAIT_S)
    assert [] == spans(tmp_path)
    for now in range(11, 2000):
        os.write(source, b"x")
        before = spans(tmp_path)
        pieces.look(now)
        if spans(tmp_path) != before:
            moments.append(now)
    assert [30, 70, 150, 310, 630, 1230, 1830] == moments
    assert MOST_WAIT_S == moments[-1] - moments[-2]


def test_much_output_is_published_soon(
    tmp_path: Path, source: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But not at once again: a thousand workers may write much at one time."""
    monkeypatch.setattr(worker_log, "MOST_WAITING_BYTES", 10)
    pieces = pieces_in(tmp_path, source, size=1000)
    os.write(source, b"x" * 10)
    pieces.look(199.0)
    assert [] == spans(tmp_path)
    pieces.look(200.0)
    assert [(0, 10)] == spans(tmp_path)
    os.write(source, b"x" * 10)
    pieces.look(399.0)
    assert [(0, 10)] == spans(tmp_path)
    pieces.look(400.0)
    assert [(0, 10), (10, 20)] == spans(tmp_path)


def test_small_pieces_are_merged_and_large_ones_stay(
    tmp_path: Path, source: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log of a day has few files, and no byte is written again and again."""
    monkeypatch.setattr(worker_log, "MERGED_BYTES", 3 * MERGE_AT)
    pieces, most = pieces_in(tmp_path, source), 0
    for _ in range(100):
        os.write(source, b"xy")
        pieces.publish()
        most = max(most, len(spans(tmp_path)))
    whole = [end - begin for begin, end in spans(tmp_path)]
    assert 200 == sum(whole)
    assert 3 * MERGE_AT <= whole[0] < 6 * MERGE_AT
    assert most < MERGE_AT + 200 // (3 * MERGE_AT) + 1


def test_a_storage_that_fails_costs_no_byte(
    tmp_path: Path, source: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """What could not be published is in the next piece."""
    pieces = pieces_in(tmp_path, source)
    (tmp_path / "logs").write_text("in the way")
    os.write(source, b"one\n")
    pieces.publish()
    assert "log not published yet: " in capsys.readouterr().err
    (tmp_path / "logs").unlink()
    os.write(source, b"two\n")
    pieces.finish()
    assert ["one", "two"] == last_lines(locate(tmp_path), 0, 1, 100)


def test_why_a_log_is_not_published_is_told_without_secrets_and_controls(
    tmp_path: Path,
    source: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The storage's words come from outside."""

    def fails(*_: object, **__: object) -> None:
        raise StorageError("no access with --token hunter2 \x9b2J")

    monkeypatch.setattr(worker_log, "create", fails)
    pieces_in(tmp_path, source).finish()
    told = "log not published yet: no access with --token ********** \\x9b2J\n"
    assert told == capsys.readouterr().err


def test_a_piece_that_is_there_after_all_is_no_failure(
    tmp_path: Path,
    source: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The answer to its first publication was lost."""
    pieces, create = pieces_in(tmp_path, source), worker_log.create

    def silent(where: object, *, private: bool) -> None:
        del private
        publish(where, b"line\n")  # type: ignore[arg-type]
        raise UnknownOutcome("no answer", where=where)

    monkeypatch.setattr(worker_log, "create", silent)
    os.write(source, b"line\n")
    pieces.publish()
    monkeypatch.setattr(worker_log, "create", create)
    capsys.readouterr()
    pieces.finish()
    assert "" == capsys.readouterr().err
    assert [(0, 5)] == spans(tmp_path)


@pytest.mark.parametrize("merge_at", [2, MERGE_AT])
def test_a_log_goes_on_behind_what_its_command_has_truncated(
    tmp_path: Path, source: int, monkeypatch: pytest.MonkeyPatch, merge_at: int
) -> None:
    """As `echo text > /dev/stderr` does; pieces that were published stay."""
    monkeypatch.setattr(worker_log, "MERGE_AT", merge_at)
    pieces = pieces_in(tmp_path, source)
    for text in (b"first\n", b"x\n", b"y\n"):
        os.write(source, text)
        pieces.publish()
        os.ftruncate(source, 0)
        pieces.look(0.0)
    os.write(source, b"last\n")
    pieces.finish()
    assert ["first", "x", "y", "last"] == last_lines(locate(tmp_path), 0, 1, 100)


@pytest.mark.parametrize("merge_at", [2, MERGE_AT])
def test_a_log_that_is_truncated_while_it_is_published_loses_only_that(
    tmp_path: Path, source: int, monkeypatch: pytest.MonkeyPatch, merge_at: int
) -> None:
    """It does not wait for bytes that will never come, nor merge pieces that it cannot read."""
    monkeypatch.setattr(worker_log, "MERGE_AT", merge_at)
    pieces, create = pieces_in(tmp_path, source), worker_log.create
    os.write(source, b"first\n")
    pieces.publish()
    turns = iter([True] if merge_at == MERGE_AT else [False, True])

    def truncating(where: Location, *, private: bool) -> AbstractContextManager[BinaryIO]:
        if next(turns, False):
            os.ftruncate(source, 0)
        return create(where, private=private)

    monkeypatch.setattr(worker_log, "create", truncating)
    os.write(source, b"second\n")
    pieces.publish()
    os.write(source, b"third, and longer\n")
    pieces.finish()
    second = [] if merge_at == MERGE_AT else ["second"]
    assert ["first", *second, "third, and longer"] == last_lines(locate(tmp_path), 0, 1, 100)


def test_another_process_goes_on_where_the_log_ends(tmp_path: Path, source: int) -> None:
    """It may have merged the pieces, and only its own are merged here."""
    os.write(source, b"one\n")
    pieces_in(tmp_path, source).finish()
    second = pieces_in(tmp_path, source, again=True)
    second.finish()
    assert [(0, 4), (4, 8)] == spans(tmp_path)


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 30), st.sampled_from(["", "piece", "merge"])), max_size=60)
)
def test_whatever_fails_and_is_merged_each_line_is_read_once(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, str]]
) -> None:
    """*fails* is what the storage refuses in a step: the next piece, or the removal of others."""
    folder, source = tmp_path_factory.mktemp("log"), nameless()
    create, remove = worker_log.create, worker_log.remove
    written = b""

    def refuses(*_: object, **__: object) -> None:
        raise StorageError("no answer")

    pieces, reader, lines = pieces_in(folder, source), Log(locate(folder), 0, 1), list[str]()
    try:
        for size, fails in steps:
            data = b"%d-%d\n" % (len(written), size) * size
            os.write(source, data)
            written += data
            worker_log.create = refuses if fails == "piece" else create
            worker_log.remove = refuses if fails == "merge" else remove
            pieces.publish()
            reader.look()
            lines += reader.read()
    finally:
        worker_log.create, worker_log.remove = create, remove
    pieces.finish()
    reader.look()
    while reader.position < reader.end:
        lines += reader.read()
    os.close(source)
    assert written.decode().splitlines() == lines
