import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from audioloom_storage import StorageError, UnknownOutcome, locate, publish
from audioloom_yarn_launcher.monitoring.log_reader import Log, last_lines
from audioloom_yarn_launcher.system.files import nameless
from audioloom_yarn_launcher.worker import log_pieces
from audioloom_yarn_launcher.worker.log_pieces import (
    FIRST_WAIT_S,
    MERGE_AT,
    MOST_WAIT_S,
    LogPieces,
)
from hypothesis import given, settings
from hypothesis import strategies as st


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
    monkeypatch.setattr(log_pieces, "MOST_WAITING_BYTES", 10)
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
    monkeypatch.setattr(log_pieces, "MERGED_BYTES", 3 * MERGE_AT)
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

    monkeypatch.setattr(log_pieces, "create", fails)
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
    pieces, create = pieces_in(tmp_path, source), log_pieces.create

    def silent(where: object, *, private: bool) -> None:
        del private
        publish(where, b"line\n")  # type: ignore[arg-type]
        raise UnknownOutcome("no answer", where=where)

    monkeypatch.setattr(log_pieces, "create", silent)
    os.write(source, b"line\n")
    pieces.publish()
    monkeypatch.setattr(log_pieces, "create", create)
    capsys.readouterr()
    pieces.finish()
    assert "" == capsys.readouterr().err
    assert [(0, 5)] == spans(tmp_path)


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
    create, remove = log_pieces.create, log_pieces.remove
    written = b""

    def refuses(*_: object, **__: object) -> None:
        raise StorageError("no answer")

    pieces, reader, lines = pieces_in(folder, source), Log(locate(folder), 0, 1), list[str]()
    try:
        for size, fails in steps:
            data = b"%d-%d\n" % (len(written), size) * size
            os.write(source, data)
            written += data
            log_pieces.create = refuses if fails == "piece" else create
            log_pieces.remove = refuses if fails == "merge" else remove
            pieces.publish()
            reader.look()
            lines += reader.read()
    finally:
        log_pieces.create, log_pieces.remove = create, remove
    pieces.finish()
    reader.look()
    while reader.position < reader.end:
        lines += reader.read()
    os.close(source)
    assert written.decode().splitlines() == lines
