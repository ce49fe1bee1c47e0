"""Shards as Parquet and ORC files: records as Arrow columns, written forward in pieces.

The columns have the names and the order of the Example's features. The values are a list of float32
in C order, as readers of such files expect. float16, which neither ORC nor many readers of Parquet
know, is widened to float32 without loss.

The bytes depend only on the records and the release of Arrow, which both formats store in the file.
Groups of rows end after a fixed number of rows, and the file holds no time, place or source.
"""

from collections.abc import Iterator
from itertools import islice
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from audioloom_manifest.parquet import damage_as
from audioloom_manifest.records.example import Record
from pyarrow import orc

from audioloom_sharder.errors import DamagedRecord
from audioloom_sharder.formats.chunk_sink import ChunkSink
from audioloom_sharder.rules import Rules

_ROWS_AT_ONCE = 64
_STRIPE_BYTES = 16 << 20
#: Bytes of values in a row group, which a reader holds at once.
_GROUP_BYTES = 8 << 20
_VALUES = pa.list_(pa.field("element", pa.float32(), nullable=False))
_TYPES = {
    "channel": pa.int64(),
    "group": pa.string(),
    "label": pa.string(),
    "label_id": pa.int64(),
    "path": pa.string(),
    "target": pa.float32(),
    "valid_frames": pa.int64(),
    "window": pa.int64(),
}


def write_parquet(records: Iterator[Record], rules: Rules) -> Iterator[bytes]:
    """Write a Parquet file, in row groups whose size depends on the feature alone."""
    sink = ChunkSink()
    columns = _columns(rules)
    with pq.ParquetWriter(
        sink,
        columns,
        compression=rules.recipe.compression,
        use_dictionary=["group", "label"],
        write_statistics=[name for name in columns.names if name != rules.feature.name],
        store_schema=False,
    ) as writer:
        for table in _tables(records, rules):
            writer.write_table(table, row_group_size=len(table))
            yield from sink.take()
    yield from sink.take()


def write_orc(records: Iterator[Record], rules: Rules) -> Iterator[bytes]:
    """Write an ORC file, in stripes of bounded size."""
    sink = ChunkSink()
    compression = rules.recipe.compression.replace("none", "uncompressed")
    writer = orc.ORCWriter(sink, compression=compression, stripe_size=_STRIPE_BYTES)
    for table in _tables(records, rules):
        writer.write(table)
        yield from sink.take()
    writer.close()
    yield from sink.take()


def read_parquet(stream: BinaryIO, rules: Rules) -> Iterator[Record]:
    """Read the records of a Parquet file; damage raises `DamagedRecord`."""
    with (
        damage_as(lambda text: DamagedRecord(f"not a whole Parquet file: {text}")),
        pq.ParquetFile(stream, memory_map=False, pre_buffer=False) as file,
    ):
        for batch in file.iter_batches(batch_size=_ROWS_AT_ONCE):
            yield from _records(batch, rules)


def read_orc(stream: BinaryIO, rules: Rules) -> Iterator[Record]:
    """Read the records of an ORC file; damage raises `DamagedRecord`."""
    with damage_as(lambda text: DamagedRecord(f"not a whole ORC file: {text}")):
        file = orc.ORCFile(stream)
        for number in range(file.nstripes):
            yield from _records(file.read_stripe(number), rules)


def _columns(rules: Rules) -> pa.Schema:
    types = [(name, _TYPES.get(name, _VALUES)) for name in rules.columns]
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in types])


def _tables(records: Iterator[Record], rules: Rules) -> Iterator[pa.Table]:
    rows, schema = max(1, _GROUP_BYTES // rules.window_bytes), _columns(rules)
    while some := list(islice(records, rows)):
        raw = b"".join(record.values for record in some)
        values = np.frombuffer(raw, rules.dtype).astype(np.float32, copy=False)
        sizes = [len(record.values) // rules.dtype.itemsize for record in some]
        offsets = pa.array(np.cumsum([0, *sizes]), pa.int32())
        lists = pa.ListArray.from_arrays(offsets, pa.array(values), type=_VALUES)
        columns = [
            pa.array([getattr(one, name) for one in some], _TYPES[name])
            if name in _TYPES
            else lists
            for name in schema.names
        ]
        yield pa.Table.from_arrays(columns, schema=schema)


def _records(batch: pa.RecordBatch, rules: Rules) -> Iterator[Record]:
    expected = _columns(rules)
    found = {field.name: field.type for field in batch.schema}
    if list(found) != expected.names or any(
        not _same(found[field.name], field.type) for field in expected
    ):
        raise DamagedRecord(f"the columns {', '.join(batch.schema.names)}, not those of a shard")
    lists = batch.column(rules.feature.name)
    if any(column.null_count for column in batch.columns) or lists.flatten().null_count:
        raise DamagedRecord("a value is missing")
    values = lists.flatten().to_numpy().astype(rules.dtype, copy=False)
    ends = np.cumsum(lists.value_lengths().to_numpy()).tolist()
    columns = {
        field.name: batch.column(field.name).to_pylist()
        for field in expected
        if field.name in _TYPES
    }
    start = 0
    for row, end in enumerate(ends):
        others = {name: column[row] for name, column in columns.items()}
        others.setdefault("target", None)
        yield Record(values=values[start:end].tobytes(), **others)
        start = end


def _same(found: pa.DataType, expected: pa.DataType) -> bool:
    """Compare types, except for the name and the nullability of a list's element."""
    if pa.types.is_list(expected):
        return bool(pa.types.is_list(found) and found.value_type == expected.value_type)
    return bool(found == expected)
