"""One record as the bytes of a ``tf.train.Example``, written and read without TensorFlow.

The bytes are those of protobuf's deterministic serialisation: features in the byte order of their
names, numbers packed. So a record is a function of its content alone. (One of protobuf's own
implementations, upb, puts ``label_id`` before ``label``: a slip for names that begin alike, not a
rule. The order here is the byte order.) Written by hand because it costs 7 µs a record where
protobuf from an ndarray costs 2 ms.

The wire format, as far as an Example needs it (proto3, ``example.proto`` and ``feature.proto``)::

    Example      { 1: Features }
    Features     { 1: map<string, Feature> }     each entry { 1: name, 2: Feature }
    Feature      { 1: BytesList | 2: FloatList | 3: Int64List }
    BytesList    { 1: repeated bytes }
    FloatList    { 1: packed little-endian float32 }
    Int64List    { 1: packed varints }
"""

import struct
from bisect import bisect
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Any, Literal, NamedTuple, TypeVar

from audioloom_manifest.errors import RecordError

#: How the values of a window are stored: packed floats that any TensorFlow user can parse, or,
#: for half precision (which Example has no type for), their bytes.
Encoding = Literal["float_list", "bytes_list"]

V = TypeVar("V", int, bytes, float)

_LENGTH = b"\x0a"  # field 1, length-delimited; also the tag of a name, a list and a map entry
_FEATURE = b"\x12"  # field 2 of a map entry
_LIST_TAG = {"bytes": 0x0A, "float": 0x12, "int64": 0x1A}
_WIRE_LENGTH_DELIMITED = 2
_MAX_VARINT_BYTES = 10


class Stored(NamedTuple):
    """How the values of a record are stored: under the name of their feature, in which list."""

    key: str
    encoding: Encoding


class Record(NamedTuple):
    """What one record says, as it lies in the shard.

    ``values`` are raw little-endian numbers in C order; ``target`` is ``None`` where the run has no
    numbers to learn.
    """

    channel: int
    group: str
    label: str
    label_id: int
    path: str
    target: float | None
    valid_frames: int
    values: bytes | memoryview
    window: int


#: The names of all that a record says beside its values, in the order in which they are stored.
NAMES = tuple(sorted(Record.__annotations__.keys() - {"values"}))


def encode(record: Record, stored: Stored) -> tuple[bytes, int]:
    """The Example's bytes, and where in them the values begin."""
    before, after = around(record, len(record.values), stored)
    return b"".join((before, record.values, after)), len(before)


def encoded_size(record: Record, size: int, stored: Stored) -> int:
    """Bytes that `encode` would give for values of *size* bytes; the record's are not looked at.

    So a plan knows sizes from the columns that say what a window is, without its values.
    """
    before, after = around(record, size, stored)
    return len(before) + size + len(after)


def around(record: Record, size: int, stored: Stored) -> tuple[bytes, bytes]:
    """The Example's bytes before and after the *size* bytes of values, which are not looked at.

    So whoever has the values need not copy them twice.
    """
    entries = (
        _integer("channel", record.channel),
        _text("group", record.group),
        _text("label", record.label),
        _integer("label_id", record.label_id),
        _text("path", record.path),
        b"" if record.target is None else _number("target", record.target),
        _integer("valid_frames", record.valid_frames),
        _integer("window", record.window),
    )
    at = bisect(NAMES, stored.key)
    kind = stored.encoding.removesuffix("_list")
    head = b"".join((*entries[:at], _head(stored.key, kind, size)))
    tail = b"".join(entries[at:])
    return _LENGTH + _varint(len(head) + size + len(tail)) + head, tail


def decode(payload: bytes, key: str) -> Record:
    """Read a record written by `encode`; anything else is `RecordError`, never an exception.

    Unknown names and missing ones are damage: a shard holds exactly what the contract lists.
    """
    known, places = {*NAMES, key}, dict[str, tuple[int, int]]()
    for name, place in _features(payload):
        if name in places:
            raise RecordError(f"the feature {name!r} twice")
        if name not in known:
            raise RecordError(f"an unknown feature {name!r}")
        places[name] = place
    if missing := sorted(known - places.keys() - {"target"}):
        raise RecordError(f"no feature {missing[0]!r}")
    found = {"target": None} | {
        name: _value(payload, name, place, _KINDS.get(name)) for name, place in places.items()
    }
    found |= {name: _utf8(name, found[name]) for name in _TEXTS}
    return Record(values=found.pop(key), **found)


def value(payload: bytes | memoryview, key: str, kind: type[V]) -> V:
    """The one value under *key*, without parsing the others: int, bytes or float.

    Raises:
        RecordError: the bytes are not an Example, or do not hold one value of that kind there.
    """
    for name, place in _features(payload):
        if name == key:
            found: V = _value(payload, name, place, kind)
            return found
    raise RecordError(f"there is no {key!r}")


_TEXTS = ("group", "label", "path")
_KINDS: dict[str, type] = {
    **dict.fromkeys(("channel", "label_id", "valid_frames", "window"), int),
    **dict.fromkeys(_TEXTS, bytes),
    "target": float,
}
_LISTS: dict[type | None, tuple[tuple[int, ...], str]] = {
    bytes: ((1,), "one bytes value"),
    float: ((2,), "one float"),
    int: ((3,), "one int64"),
    None: ((1, 2), "values"),
}
"""The lists that may hold a value of each kind, or the values of a feature."""


# --- writing -------------------------------------------------------------------------------------


@lru_cache(maxsize=8192)
def _varint(value: int) -> bytes:
    """Seven bits a byte, lowest first; a negative int64 takes ten bytes (two's complement)."""
    if value < 0:
        value += 1 << 64
    out = bytearray()
    while value > 0x7F:  # noqa: PLR2004 (seven bits)
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


@lru_cache(maxsize=8192)
def _head(name: str, kind: str, size: int) -> bytes:
    """Everything of an entry that precedes the *size* bytes of its content."""
    content = _LENGTH + _varint(size)
    list_ = bytes((_LIST_TAG[kind],)) + _varint(len(content) + size) + content
    feature = _FEATURE + _varint(len(list_) + size) + list_
    key = name.encode()
    entry = _LENGTH + _varint(len(key)) + key + feature
    return _LENGTH + _varint(len(entry) + size) + entry


@lru_cache(maxsize=8192)
def _integer(name: str, value: int) -> bytes:
    content = _varint(value)
    return _head(name, "int64", len(content)) + content


def _text(name: str, value: str) -> bytes:
    content = value.encode()
    return _head(name, "bytes", len(content)) + content


def _number(name: str, value: float) -> bytes:
    return _head(name, "float", 4) + struct.pack("<f", value)


# --- reading -------------------------------------------------------------------------------------


def _read_varint(data: bytes | memoryview, at: int, end: int) -> tuple[int, int]:
    value = shift = 0
    for taken in range(_MAX_VARINT_BYTES):
        if at + taken >= end:
            raise RecordError(f"cut off inside a number at byte {at}")
        byte = data[at + taken]
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value, at + taken + 1
        shift += 7
    raise RecordError(f"a number of more than {_MAX_VARINT_BYTES} bytes at byte {at}")


def _fields(data: bytes | memoryview, at: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Each length-delimited field between *at* and *end*: number, start and end of content."""
    while at < end:
        key, at = _read_varint(data, at, end)
        if key & 7 != _WIRE_LENGTH_DELIMITED:
            raise RecordError(f"wire type {key & 7} before byte {at}")
        size, at = _read_varint(data, at, end)
        if at + size > end:
            raise RecordError(f"a field of {size} bytes at byte {at} leaves its message")
        yield key >> 3, at, at + size
        at += size


def _one(data: bytes | memoryview, at: int, end: int, what: str) -> tuple[int, int]:
    fields = list(islice(_fields(data, at, end), 2))
    if [field for field, _, _ in fields] != [1]:
        raise RecordError(f"{what} is not one value")
    return fields[0][1:]


def _features(data: bytes | memoryview) -> Iterator[tuple[str, tuple[int, int]]]:
    """Each feature of an Example: its name, start and end of content."""
    for field, at, end in _fields(data, *_one(data, 0, len(data), "Example")):
        entry = list(islice(_fields(data, at, end), 3))
        if field != 1 or [number for number, _, _ in entry] != [1, 2]:
            raise RecordError(f"a map entry at byte {at} is not a name and a feature")
        (_, start, stop), (_, *place) = entry
        yield _utf8("a feature's name", data[start:stop]), (place[0], place[1])


def _value(data: bytes | memoryview, name: str, place: tuple[int, int], kind: type | None) -> Any:
    lists = list(islice(_fields(data, *place), 2))
    if len(lists) != 1:
        raise RecordError(f"{name!r} holds {'several lists' if lists else 'no list'}")
    number, start, end = lists[0]
    numbers, what = _LISTS[kind]
    if number not in numbers:
        raise RecordError(f"{name!r} is not {what}")
    first, last = _one(data, start, end, f"{name!r}")
    if kind is int:
        found, stop = _read_varint(data, first, last)
        if stop != last:
            raise RecordError(f"{name!r} is not {what}")
        return found - (1 << 64) if found >> 63 else found
    if kind is not float:
        return bytes(data[first:last])
    if last - first != struct.calcsize("<f"):
        raise RecordError(f"{name!r} is not {what}")
    return struct.unpack_from("<f", data, first)[0]


def _utf8(name: str, value: bytes | memoryview) -> str:
    try:
        return bytes(value).decode()
    except UnicodeDecodeError:
        raise RecordError(f"{name!r} is not UTF-8") from None
