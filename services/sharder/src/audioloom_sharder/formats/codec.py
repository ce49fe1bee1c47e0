"""Encode and decode shards of every format and compression.

The encoding step hands over Examples in TFRecord frames. A TFRecord shard consists of those bytes,
perhaps as one compressed stream. For every other format they are decoded and written as rows.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import BinaryIO, NamedTuple

from audioloom_manifest import FileEntry
from audioloom_manifest.records import tfrecord
from audioloom_manifest.records.compression import STREAMS, compressed, open_decompressed
from audioloom_manifest.records.example import Record, decode, encode
from audioloom_manifest.records.index import FOOTER_BYTES, HEADER_BYTES

from audioloom_sharder.formats import arrow, avro
from audioloom_sharder.formats.schema import RecordSchema

TFRECORD = "tfrecord"


class _RowFormat(NamedTuple):
    """A format that holds a record as a row."""

    write: Callable[[Iterator[Record], RecordSchema, str], Iterator[bytes]]
    read: Callable[[BinaryIO, RecordSchema, str], Iterator[Record]]


_ROW_FORMATS = {
    "avro": _RowFormat(avro.write, avro.read),
    "parquet": _RowFormat(arrow.write_parquet, arrow.read_parquet),
    "orc": _RowFormat(arrow.write_orc, arrow.read_orc),
}


@dataclass(frozen=True)
class Codec:
    """The format and the compression of the shards of a run."""

    format: str
    compression: str

    @property
    def indexed(self) -> bool:
        """Whether shards have an index of offsets; files of rows need none."""
        return self.format == TFRECORD

    @property
    def is_plain(self) -> bool:
        """Whether a shard is the framed records, one after another."""
        return self.format == TFRECORD and self.compression == "none"

    @property
    def is_stream(self) -> bool:
        """Whether a shard is compressed as a whole, and becomes another file when unpacked."""
        return self.format == TFRECORD and self.compression in STREAMS


class DecodedRecord(NamedTuple):
    """A record that was read from a shard."""

    record: Record
    payload: bytes
    """Its Example, as TFRecord holds it."""
    offset: int
    """Where the record begins in the unpacked TFRecord file; 0 in any other format."""
    length: int
    """Bytes of the record there, framing included; 0 in any other format."""


def encode_shard(
    codec: Codec, schema: RecordSchema, windows: Iterable[Sequence[memoryview]]
) -> Iterator[bytes | memoryview]:
    """Encode a shard, in pieces; the bytes of plain TFRecord are the records themselves.

    Args:
        codec: the format of the shard.
        schema: the fields of its records.
        windows: its records in order, framed and checked, in batches. The batch size does not
        change the bytes. A batch's memory may be reused when the next batch is requested.
    """
    framed = chain.from_iterable(windows)
    if codec.format == TFRECORD:
        yield from compressed(framed, codec.compression) if codec.is_stream else framed
        return
    records = (decode(bytes(one[HEADER_BYTES:-FOOTER_BYTES])) for one in framed)
    yield from _ROW_FORMATS[codec.format].write(records, schema, codec.compression)


def decode_shard(
    codec: Codec, schema: RecordSchema, stream: BinaryIO, entry: FileEntry
) -> Iterator[DecodedRecord]:
    """Decode every record of a shard.

    Args:
        codec: the format of the shard.
        schema: the fields of its records.
        stream: the file, from its beginning.
        entry: its line in the list of files, which bounds the decompressed size.

    Raises:
        DamagedRecord: the file is of another format, or damaged.
    """
    if codec.format == TFRECORD:
        if codec.is_stream:
            most = entry.uncompressed.bytes if entry.uncompressed else entry.bytes
            stream = open_decompressed(stream, codec.compression, most)
        for one in tfrecord.read(stream):
            yield DecodedRecord(decode(one.payload), one.payload, one.offset, one.length)
        return
    for record in _ROW_FORMATS[codec.format].read(stream, schema, codec.compression):
        yield DecodedRecord(record, encode(record, schema.encoding)[0], 0, 0)
