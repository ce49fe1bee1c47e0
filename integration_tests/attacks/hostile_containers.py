"""Containers of a few bytes that would end the process that lists them, by memory or by a crash."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zlib
from pathlib import Path
from typing import Any

_SYNC = b"audioloom attack"
_BLOCK = 512


def good(path: Path) -> None:
    """A tar of one file."""
    with tarfile.open(path, "w") as archive:
        entry = tarfile.TarInfo("a.wav")
        entry.size = 4
        archive.addfile(entry, io.BytesIO(b"call"))


def endless_type(path: Path) -> None:
    """Avro: a million values, each inside the one before."""
    node = {"type": "record", "name": "N", "fields": [{"name": "next", "type": ["null", "N"]}]}
    _avro(path, node, _long(1) * 1_000_000 + _long(0))


def endless_array(path: Path) -> None:
    """Avro: 2**50 nulls, which have no bytes."""
    _avro(path, {"type": "array", "items": "null"}, _long(1 << 50) + _long(0))


def many_fields(path: Path) -> None:
    """A tar.gz: headers of five million fields for all members."""
    with gzip.open(path, "wb", 1) as out:
        for first in range(0, 5_000_000, 10_000):
            text = b"".join(b"12 %07d=\n" % number for number in range(first, first + 10_000))
            out.write(_header(len(text), tarfile.XGLTYPE) + text + bytes(-len(text) % _BLOCK))
            out.write(_header(0))
        out.write(bytes(2 * _BLOCK))


def many_holes(path: Path) -> None:
    """A tar.gz: a sparse file with the places of ten million holes."""
    head = bytearray(_header(0, tarfile.GNUTYPE_SPARSE))
    head[482] = 1  # places follow
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)
    places = b"%011o\0" % 1 * 42
    with gzip.open(path, "wb", 1) as out:
        out.write(head)
        for _ in range(1000):
            out.write((places + b"\1" + bytes(7)) * 500)
        out.write(places + bytes(8 + 2 * _BLOCK))


def _header(size: int, kind: bytes = tarfile.REGTYPE) -> bytes:
    entry = tarfile.TarInfo("b.wav")
    entry.type, entry.size = kind, size
    return entry.tobuf()


def _avro(path: Path, kind: Any, value: bytes) -> None:
    """A file of one record, with a value of that type between its name and its content."""
    fields = [("path", "string"), ("x", kind), ("content", "bytes")]
    named = [{"name": name, "type": each} for name, each in fields]
    schema = json.dumps({"type": "record", "name": "R", "fields": named}).encode()
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    row = packer.compress(_text(b"a.wav") + value + _text(b"call")) + packer.flush()
    entries = _text(b"avro.schema") + _text(schema) + _text(b"avro.codec") + _text(b"deflate")
    head = b"Obj\1" + _long(2) + entries + _long(0) + _SYNC
    path.write_bytes(head + _long(1) + _text(row) + _SYNC)


def _text(data: bytes) -> bytes:
    return _long(len(data)) + data


def _long(number: int) -> bytes:
    """A number as Avro writes it."""
    left, out = number << 1, b""
    while left > 0x7F:
        out, left = out + bytes([left & 0x7F | 0x80]), left >> 7
    return out + bytes([left])
