"""Read single values out of a `tf.train.Example` without TensorFlow and without parsing the rest.

Only what lies beside the feature is read this way: a number to predict, a path to show. The
feature itself is gathered by its offset.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

_LENGTH_DELIMITED = 2
_CONTINUES, _LOW_BITS = 0x80, 0x7F
_NAME, _FEATURE = 1, 2  # the fields of a map entry
_BYTES_LIST, _FLOAT_LIST, _INT64_LIST = 1, 2, 3  # the fields of a Feature


class BadExample(ValueError):
    """The bytes are not an Example, or do not hold the value that was asked for."""


def float_value(payload: memoryview, key: str) -> float:
    """The one float stored under *key*.

    Raises:
        BadExample: there is no such key, or it does not hold exactly one float.
    """
    kind, content = _feature(payload, key)
    values = [value for field, value in _fields(content) if field == 1]
    if kind != _FLOAT_LIST or len(values) != 1 or len(values[0]) != 4:  # noqa: PLR2004
        raise BadExample(f"{key!r} does not hold one float")
    return float(struct.unpack("<f", values[0])[0])


def bytes_value(payload: memoryview, key: str) -> bytes:
    """The one byte string stored under *key*; raises as `float_value`."""
    kind, content = _feature(payload, key)
    values = [value for field, value in _fields(content) if field == 1]
    if kind != _BYTES_LIST or len(values) != 1:
        raise BadExample(f"{key!r} does not hold one byte string")
    return bytes(values[0])


def int_value(payload: memoryview, key: str) -> int:
    """The one integer stored under *key*; raises as `float_value`."""
    kind, content = _feature(payload, key)
    values = [value for field, value in _fields(content) if field == 1]
    if kind != _INT64_LIST or len(values) != 1 or not len(values[0]):
        raise BadExample(f"{key!r} does not hold one integer")
    value, end = _varint(values[0], 0)
    if end != len(values[0]):
        raise BadExample(f"{key!r} does not hold one integer")
    return value - (1 << 64) if value >> 63 else value


def _feature(payload: memoryview, key: str) -> tuple[int, memoryview]:
    """Which kind of list is stored under *key*, and its bytes."""
    wanted = key.encode()
    for _, features in _fields(payload):
        for _, entry in _fields(features):
            parts = dict(_fields(entry))
            if bytes(parts.get(_NAME, b"")) == wanted and _FEATURE in parts:
                for kind, content in _fields(parts[_FEATURE]):
                    return kind, content
    raise BadExample(f"there is no {key!r}")


def _fields(data: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Number and bytes of each field of a message; all of ours are length-delimited."""
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        if tag & 7 != _LENGTH_DELIMITED:
            raise BadExample(f"a field of wire type {tag & 7}")
        size, position = _varint(data, position)
        if position + size > len(data):
            raise BadExample("a field longer than its message")
        yield tag >> 3, data[position : position + size]
        position += size


def _varint(data: memoryview, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if position >= len(data) or shift > 63:  # noqa: PLR2004
            raise BadExample("a number that does not end")
        byte = data[position]
        value |= (byte & _LOW_BITS) << shift
        position, shift = position + 1, shift + 7
        if not byte & _CONTINUES:
            return value, position
