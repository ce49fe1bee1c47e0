from pathlib import Path

from audioloom_storage import locate
from audioloom_yarn_launcher.monitoring.log_reader import MOST_LINE_BYTES, Log, last_lines
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
