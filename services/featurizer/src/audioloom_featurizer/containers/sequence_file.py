"""Hadoop's SequenceFile: names as keys, recordings as values (`org.apache.hadoop.io.SequenceFile`).

Version 6. Keys are Text or BytesWritable, values BytesWritable or Text. Values that are not
compressed are read by range; values compressed one by one or in blocks, in sequence. The codecs are
those that Python has: zlib (DefaultCodec), gzip and bzip2.
"""

import bz2
import io
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import BinaryIO

from audioloom_featurizer.containers.member import (
    MOST_READ_BYTES,
    BadContainer,
    CarefulFile,
    InSequence,
    Member,
    most_expanded,
    safe_name,
)

_MAGIC = b"SEQ\x06"
_SYNC_BYTES = 16
_TEXT, _BYTES = "org.apache.hadoop.io.Text", "org.apache.hadoop.io.BytesWritable"
_GZIP = 31  # of zlib's window bits

Codec = Callable[[bytes, int], bytes]


class SequenceFile(InSequence):
    """A SequenceFile of names and recordings."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file, self._size = CarefulFile(file), size
        self._start = self._read_header()

    def _read_header(self) -> int:
        self._file.seek(0)
        if (magic := self._exactly(len(_MAGIC))) != _MAGIC:
            raise BadContainer(f"no SequenceFile of version 6, but {magic!r}")
        self._key, self._value = self._text(), self._text()
        if {self._key, self._value} - {_TEXT, _BYTES}:
            raise BadContainer(f"keys {self._key} and values {self._value}: expected Text or bytes")
        self._packed, self._blocks = (
            flag != b"\0" for flag in (self._exactly(1), self._exactly(1))
        )
        self._codec: Codec = _zlib
        if self._packed:
            codec = self._text()
            if codec not in CODECS:
                raise BadContainer(f"the codec {codec}: expected one of {', '.join(CODECS)}")
            self._codec = CODECS[codec]
        for _ in range(2 * int.from_bytes(self._exactly(4))):
            self._text()
        self._sync = self._exactly(_SYNC_BYTES)
        return self._file.tell()

    def members(self) -> Iterator[Member]:
        """See `Container.members`; members that are not compressed have a place."""
        return super().members() if self._packed or self._blocks else self._placed()

    def _placed(self) -> Iterator[Member]:
        self._file.seek(self._start)
        while (length := self._next_length()) is not None:
            key_length = self._length("a key", length)
            key = self._exactly(key_length)
            place = self._file.tell()
            head = self._value_head(length - key_length)
            name = safe_name(_content(key, self._key).decode("utf-8", "replace"))
            if name is not None:
                yield Member(name, length - key_length - head, place + head)
            self._file.seek(place + length - key_length)

    def contents(self) -> Iterator[tuple[str, bytes]]:
        """See `InSequence.contents`."""
        found = self._blocks_of_records() if self._blocks else self._single_records()
        total, most = 0, most_expanded(self._size)
        for key, value in found:
            total += len(value)
            if total > most:
                raise BadContainer("values that are much larger than the file")
            name = safe_name(_content(key, self._key).decode("utf-8", "replace"))
            if name is not None:
                yield name, _content(value, self._value)

    def _single_records(self) -> Iterator[tuple[bytes, bytes]]:
        self._file.seek(self._start)
        while (length := self._next_length()) is not None:
            key_length = self._length("a key", length)
            key, value = self._exactly(key_length), self._exactly(length - key_length)
            yield key, self._codec(value, MOST_READ_BYTES) if self._packed else value

    def _blocks_of_records(self) -> Iterator[tuple[bytes, bytes]]:
        self._file.seek(self._start)
        while (mark := self._file.read(4)) != b"":
            if mark != b"\xff\xff\xff\xff" or self._exactly(_SYNC_BYTES) != self._sync:
                raise BadContainer(f"no mark of a block before byte {self._file.tell()}")
            count = self._variable(self._file)
            key_lengths, keys, value_lengths, values = (
                io.BytesIO(self._codec(self._exactly(self._variable(self._file)), MOST_READ_BYTES))
                for _ in range(4)
            )
            for _ in range(count):
                yield self._cut(key_lengths, keys), self._cut(value_lengths, values)

    def _cut(self, lengths: io.BytesIO, contents: io.BytesIO) -> bytes:
        length = self._variable(lengths)
        found = contents.read(length)
        if len(found) < length:
            raise BadContainer("a block that is shorter than its lengths")
        return found

    def _next_length(self) -> int | None:
        head = self._file.read(4)
        if head == b"\xff\xff\xff\xff":
            if self._exactly(_SYNC_BYTES) != self._sync:
                raise BadContainer(f"a wrong sync mark before byte {self._file.tell()}")
            head = self._file.read(4)
        if not head:
            return None
        length = int.from_bytes(head, signed=True)
        if len(head) < 4 or not 0 <= length <= self._size:  # noqa: PLR2004
            raise BadContainer(f"a record of {length} bytes before byte {self._file.tell()}")
        return length

    def _length(self, what: str, most: int) -> int:
        length = int.from_bytes(self._exactly(4), signed=True)
        if not 0 <= length <= most:
            raise BadContainer(f"{what} of {length} bytes before byte {self._file.tell()}")
        return length

    def _value_head(self, length: int) -> int:
        """Bytes of a value before its content."""
        if self._value == _BYTES:
            found = self._length("a value", length)
            if found != length - 4:
                raise BadContainer(f"a value of {found} bytes in a record for {length - 4}")
            return 4
        before = self._file.tell()
        self._variable(self._file)
        return self._file.tell() - before

    def _text(self) -> str:
        return self._exactly(self._variable(self._file)).decode("utf-8", "replace")

    def _exactly(self, size: int) -> bytes:
        found = self._file.read(size)
        if len(found) < size:
            raise BadContainer(f"the end of the file instead of {size} bytes")
        return found

    def _variable(self, file: "CarefulFile | io.BytesIO") -> int:
        """A length as `WritableUtils.writeVInt` writes it."""
        head = int.from_bytes(file.read(1) or b"\x80", signed=True)
        if head >= -112:  # noqa: PLR2004 - one byte
            length = head
        else:
            length = int.from_bytes(file.read(-112 - head)) if head >= -120 else -1  # noqa: PLR2004
        if not 0 <= length <= MOST_READ_BYTES:
            raise BadContainer(f"a length of {length}")
        return length


def _content(data: bytes, kind: str) -> bytes:
    """The bytes of a Text or a BytesWritable without their length."""
    if kind == _BYTES:
        return data[4:]
    stream = io.BytesIO(data)
    head = int.from_bytes(stream.read(1) or b"\0", signed=True)
    if head < -112:  # noqa: PLR2004 - the length takes more bytes
        stream.read(-112 - head)
    return stream.read()


def _zlib(data: bytes, most: int, bits: int = zlib.MAX_WBITS) -> bytes:
    try:
        unpacker = zlib.decompressobj(bits)
        found = unpacker.decompress(data, most)
    except zlib.error as error:
        raise BadContainer(f"damaged compression ({error})") from error
    if unpacker.unconsumed_tail:
        raise BadContainer(f"a value of more than {most} bytes")
    return found


def _bzip2(data: bytes, most: int) -> bytes:
    try:
        unpacker = bz2.BZ2Decompressor()
        found = unpacker.decompress(data, most)
    except (OSError, ValueError) as error:
        raise BadContainer(f"damaged compression ({error})") from error
    if not unpacker.eof:
        raise BadContainer(f"a value of more than {most} bytes, or the end is missing")
    return found


CODECS: dict[str, Codec] = {
    f"org.apache.hadoop.io.compress.{name}Codec": codec
    for name, codec in (("Default", _zlib), ("Gzip", partial(_zlib, bits=_GZIP)), ("BZip2", _bzip2))
}
