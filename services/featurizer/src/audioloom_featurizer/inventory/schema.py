"""The columns of recordings in the stream to the inventory, and batches of recordings."""

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from audioloom_featurizer.errors import DuplicateRecording

ROWS = pa.schema(
    [
        pa.field("path", pa.string()),
        pa.field("size", pa.int64()),
        pa.field("modified_ns", pa.int64()),
        pa.field("label", pa.string()),
        pa.field("target", pa.float64()),
        pa.field("group", pa.string()),
        pa.field("key", pa.string()),
    ]
)
"""`key` joins labels if the pattern has that group; the inventory does not hold it."""

LABEL_COLUMNS = ("label", "target", "group")
"""The columns that a pattern, an inventory or a table of labels can fill."""

BATCH_ROWS = 8192


def batch_of(**columns: Any) -> pa.RecordBatch:
    """Make a batch of `ROWS`; omitted columns are null."""
    length = len(columns["path"])
    arrays = [
        columns[field.name]
        if isinstance(columns.get(field.name), pa.Array)
        else pa.array(columns[field.name], field.type)
        if field.name in columns
        else pa.nulls(length, field.type)
        for field in ROWS
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=ROWS)


def replaced(batch: pa.RecordBatch, **columns: pa.Array) -> pa.RecordBatch:
    """Replace the values of some columns of a batch."""
    return batch_of(**{name: batch.column(name) for name in ROWS.names} | columns)


def each_once(batches: Iterable[pa.RecordBatch], where: object) -> Iterator[pa.RecordBatch]:
    """Yield batches in the order of their paths, after a check that each path occurs once.

    Raises:
        DuplicateRecording: a path occurs twice.
    """
    last = None
    for batch in batches:
        paths = batch.column("path")
        again = pc.equal(paths.slice(1), paths.slice(0, len(paths) - 1))
        at = pc.index(again, value=True).as_py()
        twice = last if paths[0].as_py() == last else paths[at].as_py() if at >= 0 else None
        if twice is not None:
            raise DuplicateRecording(
                where=where,
                expected="each recording once",
                found=f"{twice!r} twice",
                hint="Remove one of the two lines.",
            )
        last = paths[len(paths) - 1].as_py()
        yield batch


def in_groups(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
    """Regroup the rows of all batches into tables of exactly *rows*; the last may have fewer."""
    held: list[pa.RecordBatch] = []
    count = 0
    for whole in batches:
        batch = whole
        while count + batch.num_rows >= rows:
            held.append(batch.slice(0, rows - count))
            batch = batch.slice(rows - count)
            yield pa.Table.from_batches(held).combine_chunks()
            held, count = [], 0
        if batch.num_rows:
            held.append(batch)
            count += batch.num_rows
    if held:
        yield pa.Table.from_batches(held).combine_chunks()
