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

from audioloom_sharder import avro, tfrecord
from audioloom_sharder.column_files import read_orc, read_parquet, write_orc, write_parquet
from audioloom_sharder.columns import columns_schema, records_of, table_of
from audioloom_sharder.compressing import STREAMS, compressed, decompressed
from audioloom_sharder.example import Record, decode, encode
from audioloom_sharder.rows import Rules

__all__ = ["Packed", "Packing", "pack", "unpack"]

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
    packing: Packing, rules: Rules, windows: Iterable[Sequence[memoryview]]
) -> Iterator[bytes | memoryview]:
    """The bytes of a shard, in pieces; those of plain TFRecord are the records themselves.

    Args:
        packing: what it is to be.
        rules: the run's.
        windows: its records in order, framed and checked, some at a time; what comes out does not
            depend on how many. Their memory is not needed any more when the next are asked for.
    """
    framed = chain.from_iterable(windows)
    if packing.format == TFRECORD:
        yield from compressed(framed, packing.compression) if packing.is_stream else framed
        return
    records = (decode(bytes(one[tfrecord.HEADER_BYTES : -tfrecord.FOOTER_BYTES])) for one in framed)
    dtype, target = rules.feature.dtype, rules.target == "number"
    if packing.format == "avro":
        yield from avro.write(records, dtype, packing.compression, target=target)
        return
    tables = (table_of(some, dtype, target=target) for some in _groups(records, rules))
    if packing.format == "parquet":
        yield from write_parquet(tables, columns_schema(target=target), packing.compression)
    else:
        yield from write_orc(tables, packing.compression)


def unpack(packing: Packing, rules: Rules, stream: BinaryIO, entry: FileEntry) -> Iterator[Packed]:
    """Every record of a shard.

    Args:
        packing: what the shard is.
        rules: the run's.
        stream: the file, from its beginning.
        entry: what the list of files says of it; a stream unpacks to no more than that.

    Raises:
        DamagedRecord: it is not such a file.
    """
    if packing.format == TFRECORD:
        if packing.is_stream:
            most = entry.unpacked.bytes if entry.unpacked else entry.bytes
            stream = decompressed(stream, packing.compression, most)
        for one in tfrecord.read(stream):
            yield Packed(decode(one.payload), one.payload, one.offset, one.length)
        return
    dtype, target = rules.feature.dtype, rules.target == "number"
    records: Iterable[Record]
    if packing.format == "avro":
        records = avro.read(stream, dtype, packing.compression, target=target)
    else:
        batches = read_parquet(stream) if packing.format == "parquet" else read_orc(stream)
        parts = (records_of(batch, dtype, target=target) for batch in batches)
        records = chain.from_iterable(parts)
    for record in records:
        yield Packed(record, encode(record, rules.encoding)[0], 0, 0)


def _groups(records: Iterator[Record], rules: Rules) -> Iterator[list[Record]]:
    """Records in groups of a size that the feature alone decides."""
    rows = max(1, _GROUP_BYTES // rules.values)
    while some := list(islice(records, rows)):
        yield some
