"""Examples by hand: what is written is read, and damage is told."""

from __future__ import annotations

import struct
import tracemalloc
from contextlib import suppress

import pytest
from audioloom_manifest.errors import RecordError
from audioloom_manifest.records.example import Record, Stored, decode, encode, encoded_size, value
from hypothesis import given
from hypothesis import strategies as st

int64 = st.integers(-(2**63), 2**63 - 1)
floats = st.floats(width=32, allow_nan=False)
records = st.builds(
    Record,
    channel=int64,
    group=st.text(max_size=300),
    label=st.text(max_size=300),
    label_id=int64,
    path=st.text(max_size=300),
    target=st.none() | floats,
    valid_frames=int64,
    values=st.integers(1, 5000).map(lambda n: struct.pack(f"<{n}f", *range(n))),
    window=int64,
)
keys = st.sampled_from(["a", "chroma", "label_mel", "mfcc", "target_", "waveform", "z"])
ways = st.builds(Stored, keys, st.sampled_from(["float_list", "bytes_list"]))
PLAIN = Record(0, "g", "l", 1, "p", None, 3, struct.pack("<3f", 1, 2, 3), 0)
MFCC = Stored("mfcc", "float_list")


@given(record=records, stored=ways)
def test_values_lie_at_the_offset(record: Record, stored: Stored) -> None:
    """The values are found at the offset that encode answers, contiguous."""
    payload, offset = encode(record, stored)
    assert record.values == payload[offset : offset + len(record.values)]


@given(record=records, stored=ways)
def test_size_is_known_without_the_values(record: Record, stored: Stored) -> None:
    """A plan's size is the size that is written."""
    bare = record._replace(values=b"")
    assert len(encode(record, stored)[0]) == encoded_size(bare, len(record.values), stored)


@given(record=records, stored=ways)
def test_decode_is_the_inverse(record: Record, stored: Stored) -> None:
    """What was written is read."""
    target = record.target
    assert record == decode(encode(record, stored)[0], stored.key)
    assert target is None or isinstance(decode(encode(record, stored)[0], stored.key).target, float)


@given(cut=st.integers(0, len(encode(PLAIN, MFCC)[0]) - 1))
def test_a_cut_record_is_damage(cut: int) -> None:
    """Whatever is cut off the end, the reader says so and nothing else happens."""
    with pytest.raises(RecordError):
        decode(encode(PLAIN, MFCC)[0][:cut], "mfcc")


@given(noise=st.binary(max_size=200))
def test_noise_is_damage(noise: bytes) -> None:
    """No bytes from outside raise anything but RecordError."""
    try:
        decode(noise, "mfcc")
    except RecordError:
        return
    pytest.fail("noise was read as a record")


@given(place=st.integers(0, len(encode(PLAIN, MFCC)[0]) - 1), flip=st.integers(1, 255))
def test_a_flipped_byte_is_damage_or_another_record(place: int, flip: int) -> None:
    """A changed byte is never an unexpected exception."""
    data = bytearray(encode(PLAIN, MFCC)[0])
    data[place] ^= flip
    try:
        found = decode(bytes(data), "mfcc")
    except RecordError:
        return
    assert found != PLAIN


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        (b"\x0a\x00", "no feature 'channel'"),
        (b"", "Example is not one value"),
        (b"\x08\x01", "wire type 0"),
        (b"\x0a\x05ab", "leaves its message"),
    ],
)
def test_damage_is_named(payload: bytes, text: str) -> None:
    """The error says what is wrong."""
    with pytest.raises(RecordError, match=text):
        decode(payload, "mfcc")


def field(number: int, data: bytes) -> bytes:
    """A length-delimited field of a message."""
    size, left = [], len(data)
    while left > 127:
        size.append(left & 127 | 128)
        left >>= 7
    return bytes([number << 3 | 2, *size, left]) + data


def example(**features: bytes) -> memoryview:
    """An Example whose features are given as the bytes of their Feature."""
    entries = [
        field(1, field(1, name.encode()) + field(2, value)) for name, value in features.items()
    ]
    return memoryview(field(1, b"".join(entries)))


HALF = field(2, field(1, b"\x00\x00\x00\x3f"))
WORD = field(1, field(1, b"calm"))


def test_values_are_found_by_their_name() -> None:
    """Others are passed over, whatever they hold."""
    whole = example(a=WORD, b=b"", target=HALF, z=WORD)
    assert (0.5, b"calm") == (value(whole, "target", float), value(whole, "z", bytes))


@given(record=records, stored=ways)
def test_values_are_those_of_the_record(record: Record, stored: Stored) -> None:
    """One by one as all together."""
    payload = memoryview(encode(record, stored)[0])
    assert record.channel == value(payload, "channel", int)
    assert record.path == value(payload, "path", bytes).decode()
    if record.target is not None:
        assert record.target == value(payload, "target", float)


@pytest.mark.parametrize(
    "whole",
    [
        example(),
        example(other=HALF),
        example(target=WORD),
        example(target=field(2, b"")),
        example(target=field(2, field(1, b"\0" * 8))),
        example(target=b""),
    ],
)
def test_a_value_that_is_not_there_is_told(whole: memoryview) -> None:
    """Also two floats, none, or text."""
    with pytest.raises(RecordError, match="target"):
        value(whole, "target", float)


@pytest.mark.parametrize(
    "whole",
    [
        example(channel=HALF),
        example(channel=field(3, b"")),
        example(channel=field(3, field(1, b""))),
        example(channel=field(3, field(1, b"\1\2"))),
    ],
)
def test_what_is_no_integer_is_told(whole: memoryview) -> None:
    """Another kind, none, or two."""
    with pytest.raises(RecordError):
        value(whole, "channel", int)


EMPTY = field(1, b"") * 50_000


@pytest.mark.parametrize(
    "payload",
    [EMPTY, field(1, field(1, EMPTY)), example(mfcc=EMPTY), example(mfcc=field(2, EMPTY))],
    ids=["messages", "names", "lists", "values"],
)
def test_fields_that_are_too_many_take_no_memory(payload: bytes | memoryview) -> None:
    """A few megabytes from outside would be gigabytes of numbers."""
    tracemalloc.start()
    try:
        with pytest.raises(RecordError):
            value(payload, "mfcc", float)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


@given(st.integers(0, 60), st.binary(max_size=40))
def test_damaged_bytes_never_crash(cut: int, junk: bytes) -> None:
    """They are refused, or happen to hold a value."""
    whole = bytes(example(a=WORD, target=HALF))
    for data in (whole[:cut], whole[:cut] + junk, junk):
        with suppress(RecordError):
            value(memoryview(data), "target", float)


def test_an_unknown_feature_is_damage() -> None:
    """A shard holds what the contract lists and nothing else."""
    with pytest.raises(RecordError, match="an unknown feature 'extra'"):
        decode(bytes(example(extra=WORD)), "mfcc")


def test_values_of_another_feature_are_damage() -> None:
    """The key is the name of the feature, and a record has the values of one."""
    payload = encode(PLAIN, MFCC)[0]
    with pytest.raises(RecordError, match="an unknown feature 'mfcc'"):
        decode(payload, "log_mel")
