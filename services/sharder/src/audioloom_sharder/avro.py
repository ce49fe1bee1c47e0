"""Avro object container files of records, written and read without a library.

A window's values lie in the file as Avro wants an array of floats, little-endian and in one block,
so their bytes are taken as they are: 10 µs a record of (40, 313), where fastavro makes a Python
number of each value, 3 ms to write them and 6 ms to read them. The file is a function of its
records: fields in byte order of their names, the same header and marker in every file.

What the specification of Avro 1.11 calls them, as far as a file of ours needs it::

    file    header  block …
    header  "Obj" 1  { "avro.codec": …, "avro.schema": … }  marker
    block   number of records  bytes  records, perhaps deflated  marker
    long    zigzag, seven bits a byte, lowest first
    string  long and UTF-8;  array  long, items, 0;  float  little-endian
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import BinaryIO

import numpy as np

from audioloom_sharder.compressing import LEVEL
from audioloom_sharder.errors import DamagedRecord
from audioloom_sharder.example import Record

__all__ = ["header", "read", "write"]

_MAGIC = b"Obj\x01"
_MARKER = b"audioloom shard\n"
"""16 bytes between the blocks. Random in other writers, which would give other bytes each time."""

_CODECS = {"none": "null", "deflate": "deflate"}
_BLOCK_BYTES = 1 << 20
_MOST_BLOCK_BYTES = 1 << 30
_RAW = -15  # zlib's word for a stream without header

_TYPES = {
    "channel": "long",
    "group": "string",
    "label": "string",
    "label_id": "long",
    "mfcc": {"type": "array", "items": "float"},
    "path": "string",
    "target": "float",
    "valid_frames": "long",
    "window": "long",
}


def header(compression: str, *, target: bool) -> bytes:
    """What a file begins with; *target*: whether records have a number to learn."""
    fields = [
        {"name": name, "type": kind} for name, kind in _TYPES.items() if target or name != "target"
    ]
    schema = {"fields": fields, "name": "audioloom.Window", "type": "record"}
    meta = {
        "avro.codec": _CODECS[compression],
        "avro.schema": json.dumps(schema, separators=(",", ":"), sort_keys=True),
    }
    entries = b"".join(_bytes(key.encode()) + _bytes(value.encode()) for key, value in meta.items())
    return _MAGIC + _long(len(meta)) + entries + _long(0) + _MARKER


def write(
    records: Iterable[Record], dtype: str, compression: str, *, target: bool
) -> Iterator[bytes]:
    """A file of *records*, in pieces of a block each.

    Args:
        records: their values are of *dtype*.
        dtype: "float32" or "float16", which is widened.
        compression: "none" or "deflate".
        target: whether they have a number to learn.
    """
    yield header(compression, target=target)
    block: list[bytes] = []
    size = 0
    for record in records:
        block.append(_encoded(record, dtype))
        size += len(block[-1])
        if size >= _BLOCK_BYTES:
            yield _framed(block, compression)
            block, size = [], 0
    if block:
        yield _framed(block, compression)


def read(stream: BinaryIO, dtype: str, compression: str, *, target: bool) -> Iterator[Record]:
    """Every record of a file that `write` made; anything else is `DamagedRecord`."""
    expected = header(compression, target=target)
    if stream.read(len(expected)) != expected:
        raise DamagedRecord("not an Avro file of the schema and codec that it should have")
    while (first := stream.read(1)) != b"":
        count = _read_long(stream, first)
        size = _read_long(stream, stream.read(1))
        if not 0 < size <= _MOST_BLOCK_BYTES or count <= 0:
            raise DamagedRecord(f"a block of {count} records and {size} bytes")
        data = stream.read(size)
        if len(data) != size or stream.read(len(_MARKER)) != _MARKER:
            raise DamagedRecord(f"a block of {size} bytes is cut off")
        fields = _Fields(_inflated(data) if compression == "deflate" else data)
        for _ in range(count):
            yield _decoded(fields, dtype, target=target)
        if not fields.at_end:
            raise DamagedRecord(f"more than {count} records in a block")


def _encoded(record: Record, dtype: str) -> bytes:
    values = _as_dtype(record.mfcc, dtype, "<f4")
    return b"".join(
        (
            _long(record.channel),
            _bytes(record.group.encode()),
            _bytes(record.label.encode()),
            _long(record.label_id),
            _long(len(values) // 4),
            values,
            _long(0),
            _bytes(record.path.encode()),
            b"" if record.target is None else struct.pack("<f", record.target),
            _long(record.valid_frames),
            _long(record.window),
        )
    )


def _framed(block: list[bytes], compression: str) -> bytes:
    data = b"".join(block)
    if compression == "deflate":
        engine = zlib.compressobj(LEVEL, zlib.DEFLATED, _RAW)
        data = engine.compress(data) + engine.flush()
    return b"".join((_long(len(block)), _long(len(data)), data, _MARKER))


def _inflated(data: bytes) -> bytes:
    engine = zlib.decompressobj(_RAW)
    try:
        found = engine.decompress(data, _MOST_BLOCK_BYTES)
    except zlib.error as error:
        raise DamagedRecord(f"a block that cannot be inflated: {error}") from None
    if not engine.eof or engine.unused_data:
        raise DamagedRecord("a block that is not one deflated stream")
    return found


def _decoded(fields: _Fields, dtype: str, *, target: bool) -> Record:
    channel, group, label, label_id = fields.long(), fields.text(), fields.text(), fields.long()
    count = fields.long()
    if count <= 0:
        raise DamagedRecord(f"an array of {count} values")
    values = fields.take(4 * count)
    if fields.long():
        raise DamagedRecord("an array in several blocks")
    return Record(
        channel=channel,
        group=group,
        label=label,
        label_id=label_id,
        mfcc=_as_dtype(values, "float32", {"float32": "<f4", "float16": "<f2"}[dtype]),
        path=fields.text(),
        target=struct.unpack("<f", fields.take(4))[0] if target else None,
        valid_frames=fields.long(),
        window=fields.long(),
    )


def _as_dtype(values: bytes | memoryview, found: str, wanted: str) -> bytes | memoryview:
    have = {"float32": "<f4", "float16": "<f2"}[found]
    return values if have == wanted else np.frombuffer(values, have).astype(wanted).tobytes()


class _Fields:
    """The bytes of a block, taken one field after another."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def at_end(self) -> bool:
        return self._at == len(self._data)

    def take(self, size: int) -> bytes:
        found = self._data[self._at : self._at + size] if size >= 0 else b""
        if len(found) != size:
            raise DamagedRecord(f"a field of {size} bytes leaves its block")
        self._at += size
        return found

    def long(self) -> int:
        value = shift = 0
        while shift < 64:  # noqa: PLR2004
            (byte,) = self.take(1)
            value |= (byte & 0x7F) << shift
            if not byte & 0x80:
                return (value >> 1) ^ -(value & 1)
            shift += 7
        raise DamagedRecord("a number that does not end")

    def text(self) -> str:
        try:
            return self.take(self.long()).decode()
        except UnicodeDecodeError:
            raise DamagedRecord("a string that is not UTF-8") from None


def _long(value: int) -> bytes:
    value = (value << 1) ^ (value >> 63)
    out = bytearray()
    while value > 0x7F:  # noqa: PLR2004 (seven bits)
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _bytes(value: bytes) -> bytes:
    return _long(len(value)) + value


def _read_long(stream: BinaryIO, first: bytes) -> int:
    found = bytearray(first)
    while found and found[-1] & 0x80 and len(found) < 10:  # noqa: PLR2004
        found += stream.read(1) or b"\0"
    return _Fields(bytes(found)).long()
