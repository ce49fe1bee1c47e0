from __future__ import annotations

import gzip
import io
import zlib

import pytest
from audioloom_manifest.errors import RecordError
from audioloom_manifest.records.compression import compressed, decompressed, open_decompressed
from hypothesis import given
from hypothesis import strategies as st

CHUNKS = [b"a shard " * 50_000, bytes(range(256)) * 300, b""]
WHOLE = b"".join(CHUNKS)


def packed(compression: str) -> bytes:
    return b"".join(compressed(CHUNKS, compression))


def unpacked(data: bytes, compression: str, limit: int = len(WHOLE)) -> bytes:
    return open_decompressed(io.BytesIO(data), compression, limit).read()


@pytest.mark.parametrize("compression", ["gzip", "zlib"])
@pytest.mark.parametrize(
    ("damage", "text"),
    [
        (lambda data: data[:-1], "cut off"),
        (lambda data: data[: len(data) // 2], "cut off"),
        (lambda data: data[:-3] + bytes([data[-3] ^ 1]) + data[-2:], "damaged"),
        (lambda data: b"?" + data[1:], "damaged"),
        (lambda data: data + b"x", "after the end"),
        (lambda data: data + data, "after the end"),
        (lambda data: b"", "cut off"),
    ],
)
def test_a_damaged_stream_is_refused(compression: str, damage: object, text: str) -> None:
    """Cut, changed or gone on with; zlib's own error does not come through."""
    assert callable(damage)
    with pytest.raises(RecordError, match=text):
        unpacked(damage(packed(compression)), compression)


@pytest.mark.parametrize("compression", ["gzip", "zlib"])
def test_a_bomb_is_refused_at_its_limit(compression: str) -> None:
    """A million zeros in a thousand bytes; what was read before it was in order."""
    data = b"".join(compressed([bytes(1_000_000)], compression))
    stream = open_decompressed(io.BytesIO(data), compression, 100_000)
    stream.read(30_000)
    with pytest.raises(RecordError, match="more than the 100000 bytes"):
        stream.read()


def test_the_header_says_nothing_but_gzip() -> None:
    """No time, no name: another day gives the same bytes."""
    data = packed("gzip")
    flags, seconds = data[3], data[4:8]
    assert (b"\x1f\x8b\x08", 0, bytes(4)) == (data[:3], flags, seconds)


@given(chunks=st.lists(st.binary(max_size=300), max_size=20), sizes=st.integers(1, 70_000))
def test_what_goes_in_comes_out(chunks: list[bytes], sizes: int) -> None:
    """In any pieces, by our reader and by Python's own."""
    whole = b"".join(chunks)
    for compression, other in (("gzip", gzip.decompress), ("zlib", zlib.decompress)):
        data = b"".join(compressed(chunks, compression))
        assert whole == other(data)
        stream = open_decompressed(io.BytesIO(data), compression, len(whole))
        assert whole == b"".join(iter(lambda: stream.read(sizes), b""))  # noqa: B023


@pytest.mark.parametrize("compression", ["gzip", "zlib"])
def test_a_stream_of_fewer_bytes_is_refused(compression: str) -> None:
    """It is whole, and not what was promised."""
    with pytest.raises(RecordError, match=f"ends after {len(WHOLE)} of {len(WHOLE) + 1} bytes"):
        unpacked(packed(compression), compression, len(WHOLE) + 1)


@given(data=st.binary(max_size=3000), repeats=st.integers(1, 2000), step=st.integers(1, 5000))
def test_any_blocks_give_the_same(data: bytes, repeats: int, step: int) -> None:
    """However the stream is cut; no piece is long."""
    whole = data * repeats
    for compression, pack in (("gzip", gzip.compress), ("zlib", zlib.compress)):
        stream = pack(whole, 1)
        blocks = [stream[at : at + step] for at in range(0, len(stream), step)]
        pieces = list(decompressed(blocks, compression, len(whole)))
        assert whole == b"".join(pieces)
        assert max(map(len, pieces), default=0) <= 1 << 16
