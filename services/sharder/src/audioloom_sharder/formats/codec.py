"""How records lie in a shard: the format and its compression. The one place that knows them all.

What is packed is what the first pass made, Examples in frames. A shard of TFRecord is those bytes,
perhaps as one compressed stream; for every other format they are decoded, and written as rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import BinaryIO, NamedTuple

from audioloom_manifest import FileEntry

from audioloom_sharder.formats import avro, tfrecord
from audioloom_sharder.formats.arrow import (
    columns_schema,
    read_orc,
    read_parquet,
    records_of,
    table_of,
    write_orc,
    write_parquet,
)
from audioloom_sharder.formats.compression import STREAMS, compressed, decompressed
from audioloom_sharder.formats.example import Record, decode, encode
from audioloom_sharder.formats.schema import RecordSchema

TFRECORD = "tfrecord"

#: Values of one row group: what a reader has to hold at least.
_GROUP_BYTES = 8 << 20


@dataclass(frozen=True)
class Packing:
    """What the shards of a run are."""

    format: str
    compression: str

    @property
    def indexed(self) -> bool:
        """Whether records are found by an offset: a file of rows has its own ways."""
        return self.format == TFRECORD

    @property
    def is_plain(self) -> bool:
        """Whether a shard is the records as they come, one after another."""
        return self.format == TFRECORD and self.compression == "none"

    @property
    def is_stream(self) -> bool:
        """Whether a file is compressed as a whole, so that it is another file when unpacked."""
        return self.format == TFRECORD and self.compression in STREAMS


class Packed(NamedTuple):
    """A record as it was found in a shard."""

    record: Record
    payload: bytes
    """Its Example, as it lies there, or as it would."""
    offset: int
    """Of the record in the unpacked TFRecord file; 0 in any other format."""
    length: int
    """There, framing included."""


def pack(
    packing: Packing, schema: RecordSchema, windows: Iterable[Sequence[memoryview]]
) -> Iterator[bytes | memoryview]:
    """The bytes of a shard, in pieces; those of plain TFRecord are the records themselves.

    Args:
        packing: what it is to be.
        schema: what its records hold.
        windows: its records in order, framed and checked, some at a time; what comes out does not
            depend on how many. Their memory is not needed any more when the next are asked for.
    """
    framed = chain.from_iterable(windows)
    if packing.format == TFRECORD:
        yield from compressed(framed, packing.compression) if packing.is_stream else framed
        return
    records = (decode(bytes(one[tfrecord.HEADER_BYTES : -tfrecord.FOOTER_BYTES])) for one in framed)
    dtype, target = schema.feature.dtype, schema.target == "number"
    if packing.format == "avro":
        yield from avro.write(records, dtype, packing.compression, target=target)
        return
    tables = (table_of(some, dtype, target=target) for some in _groups(records, schema))
    if packing.format == "parquet":
        yield from write_parquet(tables, columns_schema(target=target), packing.compression)
    else:
        yield from write_orc(tables, packing.compression)


def unpack(
    packing: Packing, schema: RecordSchema, stream: BinaryIO, entry: FileEntry
) -> Iterator[Packed]:
    """Every record of a shard.

    Args:
        packing: what the shard is.
        schema: what its records hold.
        stream: the file, from its beginning.
        entry: what the list of files says of it; a stream unpacks to no more than that.

    Raises:
        DamagedRecord: it is not such a file.
    """
    if packing.format == TFRECORD:
        if packing.is_stream:
            most = entry.uncompressed.bytes if entry.uncompressed else entry.bytes
            stream = decompressed(stream, packing.compression, most)
        for one in tfrecord.read(stream):
            yield Packed(decode(one.payload), one.payload, one.offset, one.length)
        return
    dtype, target = schema.feature.dtype, schema.target == "number"
    records: Iterable[Record]
    if packing.format == "avro":
        records = avro.read(stream, dtype, packing.compression, target=target)
    else:
        batches = read_parquet(stream) if packing.format == "parquet" else read_orc(stream)
        parts = (records_of(batch, dtype, target=target) for batch in batches)
        records = chain.from_iterable(parts)
    for record in records:
        yield Packed(record, encode(record, schema.encoding)[0], 0, 0)


def _groups(records: Iterator[Record], schema: RecordSchema) -> Iterator[list[Record]]:
    """Records in groups of a size that the feature alone decides."""
    rows = max(1, _GROUP_BYTES // schema.values)
    while some := list(islice(records, rows)):
        yield some
