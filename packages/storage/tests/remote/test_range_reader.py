from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
from audioloom_storage import Location, NotFound, pieces
from audioloom_storage.remote import retry
from audioloom_storage.remote.range_reader import open_ranges
from audioloom_storage.remote.retry import Busy, Outage, Retry
from hypothesis import given
from hypothesis import strategies as st

HERE = Location("hdfs", "nn", "/a")
DATA = bytes(range(251)) * 60_000  # 15 MB


class Far:
    """A storage that sends pieces, and remembers what it was asked."""

    def __init__(
        self,
        piece: int = 64 << 10,
        fail_at: int | None = None,
        kind: type[Exception] = Outage,
    ) -> None:
        self.piece, self.fail_at, self.kind = piece, fail_at, kind
        self.asked: list[tuple[int, int]] = []

    def open(self, offset: int, count: int) -> Iterator[bytes]:
        self.asked.append((offset, count))
        for start in range(offset, offset + count, self.piece):
            if self.fail_at is not None and start >= self.fail_at:
                self.fail_at = None
                raise self.kind("lost")
            yield DATA[start : min(start + self.piece, offset + count)]


def patient() -> Retry:
    waiting = Retry()
    waiting.answered()
    return waiting


@given(
    st.lists(st.tuples(st.integers(0, len(DATA) + 9), st.integers(0, 3_000_000)), max_size=8),
    st.integers(1000, 300_000),
)
def test_it_reads_as_a_file_does(reads: list[tuple[int, int]], piece: int) -> None:
    """Whatever the order, the sizes and the pieces."""
    with open_ranges(HERE, len(DATA), Far(piece).open, patient()) as file:
        for offset, count in reads:
            assert offset == file.seek(offset)
            assert DATA[offset : offset + count] == file.read(count)


def test_in_order_it_asks_seldom() -> None:
    """Ever larger ranges; a jump starts anew with what is wanted."""
    far = Far()
    with open_ranges(HERE, len(DATA), far.open, patient()) as file:
        while file.read(100_000):
            pass
        assert 4 >= len(far.asked)
        far.asked.clear()
        for offset in (9_000_000, 1_000_000, 5_000_000):
            file.seek(offset)
            file.read(10)
    assert [(9_000_000, 16 << 10), (1_000_000, 16 << 10), (5_000_000, 16 << 10)] == far.asked


def test_a_small_file_is_asked_for_once() -> None:
    """Also by who reads it in small pieces."""
    far = Far()
    with open_ranges(HERE, 200_000, far.open, patient()) as file:
        while file.read(1000):
            pass
    assert [(0, 200_000)] == far.asked


@pytest.mark.parametrize("count", [70_000, 1_000_001])
@pytest.mark.parametrize("into", [False, True])
def test_what_is_read_at_once_is_asked_for_at_once(count: int, into: bool) -> None:
    """A buffer alone would ask for multiples of its size, and then for the rest."""
    far = Far()
    with open_ranges(HERE, len(DATA), far.open, patient()) as file:
        for offset in (9_000_000, 1_000_003):
            file.seek(offset)
            room = bytearray(count)
            found = room[: file.readinto(room)] if into else file.read(count)  # type: ignore[attr-defined]
            assert DATA[offset : offset + count] == found
    assert [(9_000_000, count), (1_000_003, count)] == far.asked


def test_a_failure_on_the_way_is_not_seen() -> None:
    """It goes on where it was."""
    far = Far(fail_at=3_000_000)
    with open_ranges(HERE, len(DATA), far.open, patient()) as file:
        assert DATA == file.read()
    far.fail_at = 3_000_000
    with open_ranges(HERE, len(DATA), far.open, patient()) as file:
        assert DATA == b"".join(iter(lambda: file.read(70_000), b""))


def test_pieces_are_passed_on_as_they_arrive() -> None:
    """Asked for at once, and not copied: also behind what the buffer has read already."""
    far = Far(piece=100_000)
    with open_ranges(HERE, len(DATA), far.open, patient()) as file:
        assert DATA[:10] == file.read(10)
        far.asked.clear()
        found = list(pieces(file))
        assert [(10, len(DATA) - 10)] == far.asked
        assert DATA[10:] == b"".join(found)
        assert all(100_000 == len(memoryview(piece).obj) for piece in found[:-1])
        assert (len(DATA), b"") == (file.tell(), file.read(10))
        file.seek(-3, io.SEEK_END)
        assert DATA[-3:] == b"".join(pieces(file))


@pytest.mark.parametrize("kind", [Outage, Busy])
def test_pieces_go_on_after_a_failure(kind: type[Exception]) -> None:
    """Each byte comes once."""
    far = Far(fail_at=3_000_000, kind=kind)
    with open_ranges(HERE, len(DATA), far.open, patient()) as file:
        assert DATA == b"".join(pieces(file))
    assert 2 == len(far.asked)


def test_pieces_may_be_left() -> None:
    """The file is closed in the middle."""
    with open_ranges(HERE, len(DATA), Far().open, patient()) as file:
        assert DATA[: 64 << 10] == next(pieces(file))


def test_a_file_that_ends_too_early_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rather than to look complete."""
    monkeypatch.setattr(retry, "RETRY_SECONDS", 0.1)
    with (
        open_ranges(HERE, len(DATA), lambda offset, count: iter(()), patient()) as file,
        pytest.raises(Outage, match="ended too early"),
    ):
        file.read(10)


def test_a_refusal_is_told() -> None:
    """A file that was removed is not waited for."""

    def gone(offset: int, count: int) -> Iterator[bytes]:
        raise NotFound("nothing lies there", where=HERE)

    with open_ranges(HERE, 5, gone, patient()) as file, pytest.raises(NotFound):
        file.read(1)


def test_places_outside() -> None:
    """Before the start there are none; after the end there is nothing to read."""
    with open_ranges(HERE, 5, Far().open, patient()) as file:
        with pytest.raises(ValueError, match="expected a place in the file"):
            file.seek(-6, io.SEEK_END)
        assert 9 == file.seek(9)
        assert b"" == file.read()
        assert (True, True, False) == (file.seekable(), file.readable(), file.writable())
