"""The columns of recordings in the stream to the inventory, and batches of recordings."""

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from audioloom_manifest.parquet import INVENTORY
from audioloom_manifest.tables import Chunk

from audioloom_featurizer.errors import DuplicateRecording
from audioloom_featurizer.streams import equals_previous

ROWS = pa.schema([*((field.name, field.type) for field in INVENTORY), ("key", pa.string())])
"""`key` joins labels if the pattern has that group; the inventory does not hold it."""

LABEL_COLUMNS = ("label", "target", "group")
"""The columns that a pattern, an inventory or a table of labels can fill."""

BATCH_ROWS = 8192


def batch_of(schema: pa.Schema = ROWS, /, **columns: Any) -> pa.RecordBatch:
    """Make a batch of lists or arrays; omitted columns are null, others than the schema's go."""
    nulls = pa.nulls(len(next(iter(columns.values()))))
    whole = {**dict.fromkeys(schema.names, nulls), **columns}
    return pa.RecordBatch.from_pydict(whole, schema=schema)


def replaced(batch: pa.RecordBatch, **columns: Any) -> pa.RecordBatch:
    """Replace the values of some columns of a batch of `ROWS`."""
    return batch_of(**{name: batch.column(name) for name in ROWS.names} | columns)


def without_label(rows: pa.RecordBatch | pa.Table) -> pa.BooleanArray:
    """Mark the rows that have neither a label nor a target."""
    return pc.and_(pc.is_null(rows.column("label")), pc.is_null(rows.column("target")))


def read_column(chunk: Chunk, column: str, name: str) -> pa.Array:
    """Read a column of a table as the column *name* of `ROWS`.

    Raises:
        BadTable: a value is neither text nor a number, whichever the column is.
    """
    reads = {pa.string(): chunk.text, pa.int64(): chunk.whole, pa.float64(): chunk.number}
    return reads[ROWS.field(name).type](column)


def each_once(batches: Iterable[pa.RecordBatch], where: object) -> Iterator[pa.RecordBatch]:
    """Yield batches in the order of their paths; raise `DuplicateRecording` at a repeated one."""
    last = None
    for batch in batches:
        paths = batch.column("path")
        twice = batch.filter(equals_previous(paths, last))
        if twice.num_rows:
            path, member = (twice.column(name)[0].as_py() for name in ("path", "member"))
            found, hint = f"{path!r} twice", "Remove or rename one of the two."
            if member is not None:
                found += f": two members of its container are named {member!r}"
                hint = "Pack the container anew, each name once: a tar keeps old versions of files."
            raise DuplicateRecording(
                where=where, expected="each recording once", found=found, hint=hint
            )
        last = paths[-1]
        yield batch


def in_groups(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
    """Regroup the rows of all batches into tables of exactly *rows*; the last may have fewer."""
    held: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        held.append(batch)
        count += batch.num_rows
        while count >= rows:
            whole = pa.Table.from_batches(held)
            yield whole.slice(0, rows).combine_chunks()
            held, count = whole.slice(rows).to_batches(), count - rows
    if count:
        yield pa.Table.from_batches(held).combine_chunks()
