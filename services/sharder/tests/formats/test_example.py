"""The hand-made bytes against protobuf's own classes, and what damage is told."""

from __future__ import annotations

import struct

import pytest
from audioloom_sharder.errors import DamagedRecord
from audioloom_sharder.formats.example import Encoding, Record, decode, encode, encoded_size
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
    mfcc=st.integers(1, 5000).map(lambda n: struct.pack(f"<{n}f", *range(n))),
    path=st.text(max_size=300),
    target=st.none() | floats,
    valid_frames=int64,
    window=int64,
)
encodings = st.sampled_from(["float_list", "bytes_list"])
PLAIN = Record(0, "g", "l", 1, struct.pack("<3f", 1, 2, 3), "p", None, 3, 0)


def _by_protobuf(record: Record, encoding: Encoding) -> bytes:
    """The same record by TensorFlow's protobuf classes, one map entry after another.

    One by one, because upb sorts a name behind longer names that begin with it.
    """
    from tensorflow.core.example.feature_pb2 import Feature, Features

    def of(value: object) -> Feature:
        feature = Feature()
        if isinstance(value, int):
            feature.int64_list.value.append(value)
        elif isinstance(value, float):
            feature.float_list.value.append(value)
        else:
            feature.bytes_list.value.append(value.encode())  # type: ignore[attr-defined]
        return feature

    features = {
        name: of(value)
        for name, value in record._asdict().items()
        if value is not None and name != "mfcc"
    }
    values = Feature()
    if encoding == "float_list":
        count = len(record.mfcc) // 4
        values.float_list.value.extend(struct.unpack(f"<{count}f", record.mfcc))
    else:
        values.bytes_list.value.append(record.mfcc)
    features["mfcc"] = values
    body = b"".join(
        Features(feature={name: features[name]}).SerializeToString() for name in sorted(features)
    )
    return b"\x0a" + _varint(len(body)) + body


def _varint(value: int) -> bytes:
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


@given(record=records, encoding=encodings)
def test_bytes_are_those_of_protobuf(record: Record, encoding: Encoding) -> None:
    """Byte for byte what protobuf writes, whatever the values."""
    assert _by_protobuf(record, encoding) == encode(record, encoding)[0]


@given(record=records, encoding=encodings)
def test_values_lie_at_the_offset(record: Record, encoding: Encoding) -> None:
    """The values are found at the offset that encode answers, contiguous."""
    payload, offset = encode(record, encoding)
    assert record.mfcc == payload[offset : offset + len(record.mfcc)]


@given(record=records, encoding=encodings)
def test_size_is_known_without_the_values(record: Record, encoding: Encoding) -> None:
    """A plan's size is the size that is written."""
    bare = record._replace(mfcc=b"")
    assert len(encode(record, encoding)[0]) == encoded_size(bare, len(record.mfcc), encoding)


@given(record=records, encoding=encodings)
def test_decode_is_the_inverse(record: Record, encoding: Encoding) -> None:
    """What was written is read."""
    target = record.target
    assert record == decode(encode(record, encoding)[0])
    assert target is None or isinstance(decode(encode(record, encoding)[0]).target, float)


@given(cut=st.integers(0, len(encode(PLAIN, "float_list")[0]) - 1))
def test_a_cut_record_is_damage(cut: int) -> None:
    """Whatever is cut off the end, the reader says so and nothing else happens."""
    with pytest.raises(DamagedRecord):
        decode(encode(PLAIN, "float_list")[0][:cut])


@given(noise=st.binary(max_size=200))
def test_noise_is_damage(noise: bytes) -> None:
    """No bytes from outside raise anything but DamagedRecord."""
    try:
        decode(noise)
    except DamagedRecord:
        return
    pytest.fail("noise was read as a record")


@given(place=st.integers(0, len(encode(PLAIN, "float_list")[0]) - 1), flip=st.integers(1, 255))
def test_a_flipped_byte_is_damage_or_another_record(place: int, flip: int) -> None:
    """A changed byte is never an unexpected exception."""
    data = bytearray(encode(PLAIN, "float_list")[0])
    data[place] ^= flip
    try:
        found = decode(bytes(data))
    except DamagedRecord:
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
    with pytest.raises(DamagedRecord, match=text):
        decode(payload)


def test_an_unknown_feature_is_damage() -> None:
    """A shard holds what the contract lists and nothing else."""
    from tensorflow.core.example.example_pb2 import Example

    example = Example.FromString(encode(PLAIN, "float_list")[0])
    example.features.feature["extra"].int64_list.value.append(1)
    with pytest.raises(DamagedRecord, match="an unknown feature 'extra'"):
        decode(example.SerializeToString())
