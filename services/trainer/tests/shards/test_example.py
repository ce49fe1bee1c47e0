from __future__ import annotations

import pytest
from audioloom_trainer.shards.example import BadExample, bytes_value, float_value, int_value
from hypothesis import given
from hypothesis import strategies as st


def field(number: int, data: bytes) -> bytes:
    """A length-delimited field of a message."""
    assert len(data) < 128
    return bytes([number << 3 | 2, len(data)]) + data


def example(**features: bytes) -> memoryview:
    """An Example whose features are given as the bytes of their Feature."""
    entries = [
        field(1, field(1, name.encode()) + field(2, value)) for name, value in features.items()
    ]
    return memoryview(field(1, b"".join(entries)))


HALF = field(2, field(1, b"\x00\x00\x00\x3f"))
WORD = field(1, field(1, b"calm"))


def test_values_are_found_by_their_name() -> None:
    """Others are passed over."""
    whole = example(a=WORD, target=HALF, z=WORD)
    assert (0.5, b"calm") == (float_value(whole, "target"), bytes_value(whole, "z"))


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
def test_what_is_not_there_is_told(whole: memoryview) -> None:
    """Also two floats, none, or text."""
    with pytest.raises(BadExample, match="target"):
        float_value(whole, "target")


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
    with pytest.raises(BadExample, match="one integer"):
        int_value(whole, "channel")


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_integers_are_as_tensorflow_writes_them(value: int) -> None:
    """Any of 64 bits, negative ones too."""
    import tensorflow as tf

    feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))
    whole = tf.train.Example(features=tf.train.Features(feature={"channel": feature}))
    assert value == int_value(memoryview(whole.SerializeToString()), "channel")


@given(st.integers(0, 60), st.binary(max_size=40))
def test_damaged_bytes_never_crash(cut: int, junk: bytes) -> None:
    """They are refused, or happen to hold a value."""
    whole = bytes(example(a=WORD, target=HALF))
    for data in (whole[:cut], whole[:cut] + junk, junk):
        try:
            float_value(memoryview(data), "target")
        except BadExample:
            continue


def test_tensorflow_writes_what_is_read() -> None:
    """The bytes of the real thing."""
    import tensorflow as tf

    feature = tf.train.Feature(float_list=tf.train.FloatList(value=[0.25]))
    text = tf.train.Feature(bytes_list=tf.train.BytesList(value=["ä".encode()]))
    features = tf.train.Features(feature={"target": feature, "path": text})
    whole = memoryview(tf.train.Example(features=features).SerializeToString())
    assert (0.25, "ä".encode()) == (float_value(whole, "target"), bytes_value(whole, "path"))
