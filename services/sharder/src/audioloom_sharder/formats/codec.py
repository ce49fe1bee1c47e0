"""Encode and decode shards of every format and compression.

The encoding step hands over Examples in TFRecord frames. A TFRecord shard consists of those bytes,
perhaps as one compressed stream. For every other format they are decoded and written as rows.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import BinaryIO, NamedTuple

from audioloom_manifest.envelope import FileEntry
from audioloom_manifest.records import tfrecord
from audioloom_manifest.records.compression import compressed, open_decompressed
from audioloom_manifest.records.example import Record, decode, encode
from audioloom_manifest.records.index import FOOTER_BYTES, HEADER_BYTES

from audioloom_sharder.formats import arrow, avro
from audioloom_sharder.rules import Rules

#: Formats that hold a record as a row.
_WRITE_ROWS = {"avro": avro.write, "parquet": arrow.write_parquet, "orc": arrow.write_orc}
_READ_ROWS = {"avro": avro.read, "parquet": arrow.read_parquet, "orc": arrow.read_orc}


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
    rules: Rules, windows: Iterable[Sequence[memoryview]]
) -> Iterator[bytes | memoryview]:
    """Encode a shard, in pieces; the bytes of plain TFRecord are the records themselves.

    The records are framed and checked, in batches whose size does not change the bytes. A batch's
    memory may be reused when the next batch is requested.
    """
    framed = chain.from_iterable(windows)
    if rules.indexed:
        yield from compressed(framed, rules.recipe.compression) if rules.is_stream else framed
        return
    key = rules.feature.name
    records = (decode(bytes(one[HEADER_BYTES:-FOOTER_BYTES]), key) for one in framed)
    yield from _WRITE_ROWS[rules.recipe.format](records, rules)


def decode_shard(rules: Rules, stream: BinaryIO, entry: FileEntry) -> Iterator[DecodedRecord]:
    """Decode every record of a shard; *entry* bounds its decompressed size.

    Raises:
        DamagedRecord: the file is of another format, or damaged.
    """
    if rules.indexed:
        if rules.is_stream:
            most = entry.uncompressed.bytes if entry.uncompressed else entry.bytes
            stream = open_decompressed(stream, rules.recipe.compression, most)
        for one in tfrecord.read(stream):
            record = decode(one.payload, rules.feature.name)
            yield DecodedRecord(record, one.payload, one.offset, one.length)
        return
    for record in _READ_ROWS[rules.recipe.format](stream, rules):
        yield DecodedRecord(record, encode(record, rules.stored)[0], 0, 0)
