from __future__ import annotations

import gzip
import zlib

import pytest
from audioloom_trainer.shards.unpacking import BadStream, Unpacker
from hypothesis import given
from hypothesis import strategies as st

PACK = {"gzip": gzip.compress, "zlib": zlib.compress}
WHOLE = bytes(range(256)) * 20_000


def unpack(data: bytes, compression: str, limit: int, step: int = 1 << 20) -> bytes:
    pieces: list[bytes] = []
    unpacker = Unpacker(compression, limit, pieces.append)
    try:
        for at in range(0, len(data), step):
            unpacker.add(data[at : at + step])
        unpacker.end()
    finally:
        assert sum(map(len, pieces)) <= limit
        assert max(map(len, pieces), default=0) <= 1 << 20
    return b"".join(pieces)


@pytest.mark.parametrize("compression", ["gzip", "zlib"])
def test_a_bomb_is_refused_at_its_limit(compression: str) -> None:
    """Ten million zeros in ten thousand bytes: not one byte more than it should be comes out."""
    bomb = PACK[compression](bytes(10_000_000))
    with pytest.raises(BadStream, match="more than the 1000 bytes"):
        unpack(bomb, compression, 1000)


@pytest.mark.parametrize("compression", ["gzip", "zlib"])
@pytest.mark.parametrize(
    ("damage", "text"),
    [
        (lambda data: data[:-1], "ends after"),
        (lambda data: b"?" + data[1:], "damaged"),
        (lambda data: data[:-2] + bytes([data[-2] ^ 1]) + data[-1:], "damaged"),
        (lambda data: data + b"x", "after the end"),
        (lambda data: b"", "ends after"),
    ],
)
def test_a_damaged_stream_is_refused(compression: str, damage: object, text: str) -> None:
    """Cut, changed, or gone on with."""
    assert callable(damage)
    with pytest.raises(BadStream, match=text):
        unpack(damage(PACK[compression](WHOLE)), compression, len(WHOLE))


@given(data=st.binary(max_size=3000), repeats=st.integers(1, 2000), step=st.integers(1, 5000))
def test_what_went_in_comes_out(data: bytes, repeats: int, step: int) -> None:
    """However the stream is cut into blocks."""
    for compression, pack in PACK.items():
        whole = data * repeats
        assert whole == unpack(pack(whole, 1), compression, len(whole), step)
