from pathlib import Path

from audioloom_storage import locate
from audioloom_yarn_launcher.monitoring.log_reader import (
    MOST_LINE_BYTES,
    Stream,
    last_lines,
    log_files,
)
from hypothesis import given
from hypothesis import strategies as st


def write(folder: Path, *pieces: bytes) -> None:
    (folder / "logs").mkdir(exist_ok=True)
    for number, piece in enumerate(pieces):
        (folder / f"logs/0.1.{number}.log").write_bytes(piece)


def test_there_may_be_no_log(tmp_path: Path) -> None:
    """Nobody has said anything yet."""
    assert [] == log_files(locate(tmp_path), 1, None)
    assert [] == last_lines(locate(tmp_path), 1, 0, 100)


def test_a_line_without_end_is_left_for_later_and_no_byte_is_lost(tmp_path: Path) -> None:
    """Bytes without meaning survive; a line that is cut by the end of a piece is one line."""
    folder, stream = locate(tmp_path), Stream()
    write(tmp_path, b"one\n\xff\r\ntw")
    assert ["one", "\udcff\r"] == [*stream.read(log_files(folder, 1, 0))]
    assert [] == [*stream.read(log_files(folder, 1, 0))]
    write(tmp_path, b"one\n\xff\r\ntw", b"o\nthree")
    assert ["two"] == [*stream.read(log_files(folder, 1, 0))]
    assert ["three"] == [*stream.rest()]
    assert [] == [*stream.rest()]


def test_what_was_taken_elsewhere_is_not_read_again(tmp_path: Path) -> None:
    """A node is ahead of the pieces that come after it."""
    stream = Stream()
    assert ["one"] == [*stream.take(b"one\ntwo")]
    write(tmp_path, b"one\n", b"two and\nthree\n")
    assert ["two and", "three"] == [*stream.read(log_files(locate(tmp_path), 1, 0))]


def test_a_line_that_never_ends_is_cut() -> None:
    """A progress bar that is drawn over itself may be one."""
    assert [MOST_LINE_BYTES] == [len(line) for line in Stream().take(b"x" * MOST_LINE_BYTES)]


@given(st.lists(st.binary(max_size=20), max_size=6), st.integers(1, 7))
def test_however_it_is_cut_the_same_lines_come(pieces: list[bytes], step: int) -> None:
    """Into pieces, or by what a node shows at a time."""
    whole = b"".join(pieces)
    stream = Stream()
    lines = [line for i in range(0, len(whole), step) for line in stream.take(whole[i : i + step])]
    lines += stream.rest()
    expected = whole.removesuffix(b"\n").split(b"\n") if whole else []
    assert [line.decode("utf-8", "surrogateescape") for line in expected] == lines


def test_the_last_lines_are_whole(tmp_path: Path) -> None:
    """Across the end of a piece."""
    write(tmp_path, b"first\nsecond\nthi", b"rd\nfourth\n")
    folder = locate(tmp_path)
    assert ["first", "second", "third", "fourth"] == last_lines(folder, 1, 0, 1000)
    assert ["third", "fourth"] == last_lines(folder, 1, 0, 16)
