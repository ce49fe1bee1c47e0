"""Hadoop's SequenceFile: names as keys, recordings as values (`org.apache.hadoop.io.SequenceFile`).

Version 6. Keys are Text or BytesWritable, values BytesWritable or Text. Values that are not
compressed are read by range; values compressed one by one or in blocks, in sequence. The codecs are
zlib (DefaultCodec), gzip, bzip2 and Snappy.
"""

import io
from collections.abc import Iterator
from typing import BinaryIO, cast

from audioloom_featurizer.containers.codecs import DEFAULT, HADOOP
from audioloom_featurizer.containers.member import (
    LEFT_OUT,
    MOST_READ_BYTES,
    BadContainer,
    CarefulFile,
    Container,
    Content,
    Entry,
    Member,
    check_size,
    pieces,
    safe_name,
    whole_members,
)

_MAGIC = b"SEQ\x06"
_SYNC_BYTES = 16
_TEXT, _BYTES = "org.apache.hadoop.io.Text", "org.apache.hadoop.io.BytesWritable"


class SequenceFile(Container):
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
        codec = self._text() if self._packed else DEFAULT
        if codec not in HADOOP:
            raise BadContainer(f"the codec {codec}: expected one of {', '.join(HADOOP)}")
        self._codec = HADOOP[codec]
        for _ in range(2 * int.from_bytes(self._exactly(4))):
            self._text()
        self._sync = self._exactly(_SYNC_BYTES)
        return self._file.tell()

    def entries(self) -> Iterator[Entry]:
        """See `Container.entries`; members that are not compressed have a place."""
        self._file.seek(self._start)
        if not self._packed and not self._blocks:
            return self._placed()
        found = self._blocks_of_records() if self._blocks else self._single_records()
        records = ((self._name(key), _content(value, self._value)) for key, value in found)
        return whole_members(records, self._size)

    def _placed(self) -> Iterator[Entry]:
        while (length := self._next_length()) is not None:
            key = self._exactly(self._length("a key", length))
            begin = self._file.tell()
            end = begin + length - len(key)
            place = begin + self._value_head(end - begin)
            if place > end:
                raise BadContainer(f"a value of {end - place} bytes before byte {place}")
            name = safe_name(self._name(key))
            if name is None:
                yield LEFT_OUT
            else:
                yield Member(name, end - place, place), self._piece(name, place, end)
            self._file.seek(end)

    def _piece(self, name: str, place: int, end: int) -> Iterator[Content]:
        self._file.seek(place)
        yield from pieces(cast("BinaryIO", self._file), end - place, name)

    def _name(self, key: bytes) -> str:
        return _content(key, self._key).decode("utf-8", "replace")

    def _single_records(self) -> Iterator[tuple[bytes, bytes]]:
        while (length := self._next_length()) is not None:
            key_length = self._length("a key", length)
            key, value = self._exactly(key_length), self._exactly(length - key_length)
            yield key, self._codec(value, MOST_READ_BYTES)

    def _blocks_of_records(self) -> Iterator[tuple[bytes, bytes]]:
        while (mark := self._file.read(4)) != b"":
            if mark != b"\xff\xff\xff\xff" or self._exactly(_SYNC_BYTES) != self._sync:
                raise BadContainer(f"no mark of a block before byte {self._file.tell()}")
            count = _variable(self._file)
            key_lengths, keys, value_lengths, values = (
                io.BytesIO(self._codec(self._exactly(_variable(self._file)), MOST_READ_BYTES))
                for _ in range(4)
            )
            for _ in range(count):
                yield self._cut(key_lengths, keys), self._cut(value_lengths, values)

    def _cut(self, lengths: io.BytesIO, contents: io.BytesIO) -> bytes:
        length = _variable(lengths)
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
        _variable(self._file)
        return self._file.tell() - before

    def _text(self) -> str:
        return self._exactly(_variable(self._file)).decode("utf-8", "replace")

    def _exactly(self, size: int) -> bytes:
        found = self._file.read(size)
        if len(found) < size:
            raise BadContainer(f"the end of the file instead of {size} bytes")
        return found


def _variable(file: CarefulFile | io.BytesIO) -> int:
    """A length as `WritableUtils.writeVInt` writes it."""
    head = int.from_bytes(file.read(1) or b"\x80", signed=True)
    if head >= -112:  # noqa: PLR2004 - one byte
        length = head
    else:
        length = int.from_bytes(file.read(-112 - head)) if head >= -120 else -1  # noqa: PLR2004
    if length < 0:
        raise BadContainer(f"a length of {length}")
    check_size("a length of", length)
    return length


def _content(data: bytes, kind: str) -> bytes:
    """The bytes of a Text or a BytesWritable without their length."""
    if kind == _BYTES:
        return data[4:]
    stream = io.BytesIO(data)
    _variable(stream)
    return stream.read()
