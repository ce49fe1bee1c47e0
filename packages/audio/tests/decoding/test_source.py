import hashlib
import io
from collections.abc import Callable

import numpy as np
import pytest
from audio_settings import settings_of
from audioloom_audio import DigestingReader, RefusedRecording, extract
from audioloom_audio.decoding.source import read_fully
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray


class _Trickle(io.BytesIO):
    """Gives at most three bytes a read, as a remote file may."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(3 if size is None or size < 0 else min(3, size))


@pytest.mark.parametrize("count", [0, 1, 3, 4, 10, 11])
def test_a_short_read_is_not_the_end(count: int) -> None:
    """Only nothing at all is."""
    assert bytes(range(10))[:count] == read_fully(_Trickle(bytes(range(10))), count)


CONTENT = np.random.default_rng(0).bytes(5000)


class _Counting(io.BytesIO):
    """Counts the bytes that were read."""

    total = 0

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        self.total += len(data)
        return data


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("read"), st.integers(-1, 3000)),
            st.tuples(st.just("seek"), st.integers(0, 6000)),
            st.tuples(st.just("back"), st.integers(-500, 500)),
            st.tuples(st.just("end"), st.integers(-5000, 0)),
        ),
        max_size=12,
    ),
    st.integers(0, 6000),
)
def test_the_digest_is_that_of_the_file_whatever_is_read_in_whatever_order(
    steps: list[tuple[str, int]], most: int
) -> None:
    """Or that of its first bytes; and what is read is what the file holds."""
    plain, reader = io.BytesIO(CONTENT), DigestingReader(io.BytesIO(CONTENT), most)
    for step, number in steps:
        if step == "read":
            assert plain.read(number) == reader.read(number)
        elif step == "seek":
            assert plain.seek(number) == reader.seek(number)
        elif step == "end":
            assert plain.seek(number, 2) == reader.seek(number, 2)
        elif plain.tell() + number >= 0:
            assert plain.seek(number, 1) == reader.seek(number, 1)
        assert plain.tell() == reader.tell()

    assert _digest(CONTENT[:most]) == reader.finish()
    assert _digest(CONTENT[:most]) == reader.finish()
    assert len(CONTENT[:most]) == reader.hashed


def test_a_digest_of_the_first_bytes_reads_no_more() -> None:
    """However long the file is."""
    source = _Counting(CONTENT)
    assert _digest(CONTENT[:100]) == DigestingReader(source, 100).finish()
    assert 100 == source.total


def test_a_long_jump_ahead_is_not_filled_but_made_up_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A decoder that looks at the end of 2 GB must not cost 2 GB there and then."""
    monkeypatch.setattr("audioloom_audio.decoding.source.GAP_BYTES", 1000)
    source = _Counting(CONTENT)
    reader = DigestingReader(source)

    reader.seek(4000)
    reader.read(10)
    assert (10, 0) == (source.total, reader.hashed)

    reader.seek(900)
    reader.read(10)
    assert (10 + 910, 910) == (source.total, reader.hashed)

    assert _digest(CONTENT) == reader.finish()


def test_a_plain_wave_is_read_once(
    make_wave: Callable[..., bytes], voice: Callable[..., NDArray[np.float32]]
) -> None:
    """The checksum comes with the samples: the bytes do not pass twice."""
    data = (voice(8000, 100_000) * 32767).astype("<i2").tobytes()
    content = make_wave(data, before=b"JUNK\x80\x00\x00\x00" + bytes(128))
    source = _Counting(content)
    reader = DigestingReader(source)

    windows = list(extract(reader, settings_of(windows="all")))

    assert 2 == len(windows)
    assert _digest(content) == reader.finish()
    # The first bytes are looked at once more, to tell the format.
    assert len(content) + 24 + 12 >= source.total


def test_the_digest_covers_what_a_first_window_leaves_unread(
    make_wave: Callable[..., bytes],
) -> None:
    """Ten seconds are decoded; the name is that of the whole file."""
    content = make_wave(np.random.default_rng(0).bytes(1_000_000))
    reader = DigestingReader(io.BytesIO(content))

    windows = list(extract(reader))

    assert 1 == len(windows)
    assert reader.hashed < 500_000
    assert _digest(content) == reader.finish()


def test_a_refused_recording_has_its_digest_as_well() -> None:
    """The ledger says which bytes were refused."""
    content = b"<html>" * 1000
    reader = DigestingReader(io.BytesIO(content))

    with pytest.raises(RefusedRecording):
        extract(reader)

    assert _digest(content) == reader.finish()


def test_a_failing_source_is_heard_and_can_be_tried_again() -> None:
    """A digest of half a file is never given out."""

    class Failing(io.BytesIO):
        broken = True

        def read(self, size: int | None = -1, /) -> bytes:
            if self.broken and self.tell() > 0:
                raise ConnectionError("lost")
            return super().read(size)

    source = Failing(CONTENT)
    reader = DigestingReader(source)
    reader.read(100)

    with pytest.raises(ConnectionError):
        reader.finish()
    source.broken = False

    assert _digest(CONTENT) == reader.finish()
