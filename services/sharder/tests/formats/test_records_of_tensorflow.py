"""The records that the contract's package makes by hand, against TensorFlow's own classes."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from audioloom_manifest.errors import RecordError
from audioloom_manifest.records.example import Record, Stored, decode, encode, value
from audioloom_manifest.records.tfrecord import frame
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


def _by_protobuf(record: Record, stored: Stored) -> bytes:
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
        if value is not None and name != "values"
    }
    values = Feature()
    if stored.encoding == "float_list":
        count = len(record.values) // 4
        values.float_list.value.extend(struct.unpack(f"<{count}f", record.values))
    else:
        values.bytes_list.value.append(record.values)
    features[stored.key] = values
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


@given(record=records, stored=ways)
def test_bytes_are_those_of_protobuf(record: Record, stored: Stored) -> None:
    """Byte for byte what protobuf writes, whatever the values."""
    assert _by_protobuf(record, stored) == encode(record, stored)[0]


def test_tensorflow_reads_the_file(tmp_path: Path) -> None:
    """TensorFlow's own reader, with its checksums, takes the file."""
    import tensorflow as tf

    payloads = [b"", b"one", bytes(5000)]
    path = tmp_path / "a.tfrecord"
    path.write_bytes(b"".join(map(frame, payloads)))
    assert payloads == [one.numpy() for one in tf.data.TFRecordDataset(str(path))]


def test_the_file_is_the_one_tensorflow_writes(tmp_path: Path) -> None:
    """Byte for byte."""
    import tensorflow as tf

    payloads = [b"", b"one", bytes(5000)]
    path = tmp_path / "a.tfrecord"
    with tf.io.TFRecordWriter(str(path)) as writer:
        for payload in payloads:
            writer.write(payload)
    assert path.read_bytes() == b"".join(map(frame, payloads))


def test_an_unknown_feature_is_damage() -> None:
    """A shard holds what the contract lists and nothing else."""
    from tensorflow.core.example.example_pb2 import Example

    example = Example.FromString(encode(PLAIN, MFCC)[0])
    example.features.feature["extra"].int64_list.value.append(1)
    with pytest.raises(RecordError, match="an unknown feature 'extra'"):
        decode(example.SerializeToString(), "mfcc")


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_integers_are_as_tensorflow_writes_them(number: int) -> None:
    """Any of 64 bits, negative ones too."""
    import tensorflow as tf

    feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[number]))
    whole = tf.train.Example(features=tf.train.Features(feature={"channel": feature}))
    assert number == value(memoryview(whole.SerializeToString()), "channel", int)


def test_tensorflow_writes_what_is_read() -> None:
    """The bytes of the real thing."""
    import tensorflow as tf

    feature = tf.train.Feature(float_list=tf.train.FloatList(value=[0.25]))
    text = tf.train.Feature(bytes_list=tf.train.BytesList(value=["ä".encode()]))
    features = tf.train.Features(feature={"target": feature, "path": text})
    whole = memoryview(tf.train.Example(features=features).SerializeToString())
    assert (0.25, "ä".encode()) == (value(whole, "target", float), value(whole, "path", bytes))
