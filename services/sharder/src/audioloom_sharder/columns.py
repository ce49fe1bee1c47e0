"""Records as Arrow columns, for the formats that hold columns: Parquet and ORC.

The columns are the features of the Example, by the same names and in the same order. The values
are a list of float32 in C order, as whoever reads such files expects; float16, which neither ORC
nor many readers of Parquet know, is widened to it, which loses nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from audioloom_sharder.errors import DamagedRecord
from audioloom_sharder.example import Record

__all__ = ["columns_schema", "records_of", "table_of"]

_VALUES = pa.list_(pa.field("element", pa.float32(), nullable=False))
_NUMPY: dict[str, np.dtype[Any]] = {"float32": np.dtype("<f4"), "float16": np.dtype("<f2")}
_TYPES = {
    "channel": pa.int64(),
    "group": pa.string(),
    "label": pa.string(),
    "label_id": pa.int64(),
    "mfcc": _VALUES,
    "path": pa.string(),
    "target": pa.float32(),
    "valid_frames": pa.int64(),
    "window": pa.int64(),
}


def columns_schema(*, target: bool) -> pa.Schema:
    """The columns; *target*: whether records have a number to learn."""
    return pa.schema(
        [
            pa.field(name, kind, nullable=False)
            for name, kind in _TYPES.items()
            if target or name != "target"
        ]
    )


def table_of(records: Sequence[Record], dtype: str, *, target: bool) -> pa.Table:
    """Some records, whose values are of *dtype* ("float32" or "float16")."""
    raw = b"".join(record.mfcc for record in records)
    values = np.frombuffer(raw, _NUMPY[dtype]).astype(np.float32, copy=False)
    sizes = [len(record.mfcc) // _NUMPY[dtype].itemsize for record in records]
    offsets = pa.array(np.cumsum([0, *sizes]), pa.int32())
    lists = pa.ListArray.from_arrays(offsets, pa.array(values), type=_VALUES)
    schema = columns_schema(target=target)
    columns = [
        lists if name == "mfcc" else pa.array([getattr(one, name) for one in records], _TYPES[name])
        for name in schema.names
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def records_of(batch: pa.RecordBatch, dtype: str, *, target: bool) -> Iterator[Record]:
    """The records of a batch of such columns.

    Raises:
        DamagedRecord: it has other columns, or a value is missing.
    """
    expected = columns_schema(target=target)
    found = {field.name: field.type for field in batch.schema}
    if list(found) != expected.names or any(
        not _same(found[field.name], field.type) for field in expected
    ):
        raise DamagedRecord(f"the columns {', '.join(batch.schema.names)}, not those of a shard")
    lists = batch.column("mfcc")
    if any(column.null_count for column in batch.columns) or lists.flatten().null_count:
        raise DamagedRecord("a value is missing")
    values = lists.flatten().to_numpy().astype(_NUMPY[dtype], copy=False)
    ends = np.cumsum(lists.value_lengths().to_numpy()).tolist()
    columns = {
        field.name: batch.column(field.name).to_pylist()
        for field in expected
        if field.name != "mfcc"
    }
    start = 0
    for row, end in enumerate(ends):
        others = {name: column[row] for name, column in columns.items()}
        others.setdefault("target", None)
        yield Record(mfcc=values[start:end].tobytes(), **others)
        start = end


def _same(found: pa.DataType, expected: pa.DataType) -> bool:
    """Whether types agree but for what readers call an element, and whether it may be null."""
    if pa.types.is_list(expected):
        return bool(pa.types.is_list(found) and found.value_type == expected.value_type)
    return bool(found == expected)
