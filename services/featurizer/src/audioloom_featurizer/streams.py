"""Sort, merge and join streams of rows that need not fit into memory.

Keys are text and are compared by their UTF-8 bytes, as in Arrow and Python. The sort is external:
sorted runs on local disk, merged as a stream. Memory holds one run, and a batch of each of the
others: ten million recordings make about twenty runs.
"""

import os
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc

from audioloom_featurizer.scratch import scratch_file

RUN_BYTES = 48 << 20
BATCH_ROWS = 8192

_CODEC = "lz4"


def sorted_batches(batches: Iterable[pa.RecordBatch], key: str) -> Iterator[pa.RecordBatch]:
    """Sort all rows by the text column *key*, without nulls; equal keys come in any order.

    The batches have one schema, and a few of them must fit into memory.
    """
    with scratch_file() as file:
        runs: list[Iterator[pa.RecordBatch]] = []
        held: list[pa.RecordBatch] = []
        size = 0
        for batch in batches:
            if batch.num_rows:
                held.append(batch)
                size += batch.nbytes
            if size >= RUN_BYTES:
                runs.append(stored(file, _cut(_sort(held, key))))
                held, size = [], 0
        if held:
            runs.append(_cut(_sort(held, key)))
        yield from merge(runs, key)


def merge(streams: Sequence[Iterator[pa.RecordBatch]], key: str) -> Iterator[pa.RecordBatch]:
    """Merge streams that are each in the order of *key*.

    To avoid work per row, all rows up to the smallest last key of the current batches are sorted
    together.
    """
    heads = [Cursor(stream, key) for stream in streams]
    while heads := [head for head in heads if head.rows.num_rows]:
        bound = min(head.key_at(-1) for head in heads)
        pieces = []
        for head in heads:
            while count := head.upto(bound):
                pieces.append(head.take(count))
        yield from pieces if len(pieces) == 1 else _cut(_sort(pieces, key))


class Cursor:
    """A stream in the order of a key, and what is left of its current batch.

    Args:
        stream: the batches.
        key: a text column without nulls.
        schema: the schema of `rows` if the stream has no rows at all.

    Attributes:
        rows: the next rows; empty at the end of the stream.
    """

    def __init__(
        self, stream: Iterable[pa.RecordBatch], key: str, schema: pa.Schema | None = None
    ) -> None:
        self._stream = iter(stream)
        self._key = key
        schema = schema or pa.schema([(key, pa.string())])
        self.rows = pa.RecordBatch.from_pylist([], schema=schema)
        self.take(0)

    def key_at(self, row: int) -> str:
        """The key of a row of the current batch."""
        return str(self.rows.column(self._key)[row].as_py())

    def upto(self, bound: str) -> int:
        """Count the rows of the current batch whose keys are at most *bound*."""
        return bisect_right(range(self.rows.num_rows), bound, key=self.key_at)

    def take(self, count: int) -> pa.RecordBatch:
        """Take the first rows of the current batch; read the next batch if no row is left."""
        taken, self.rows = self.rows.slice(0, count), self.rows.slice(count)
        if not self.rows.num_rows:
            self.rows = next((batch for batch in self._stream if batch.num_rows), self.rows)
        return taken


@dataclass(frozen=True)
class JoinedPiece:
    """A piece of both streams.

    Attributes:
        left: the next rows of the left stream; may be empty.
        right: for each left row the right row with its key, or nulls.
        unmatched: rows of the right stream without a partner.
    """

    left: pa.RecordBatch
    right: pa.RecordBatch
    unmatched: pa.RecordBatch


def merge_join(
    left: Iterable[pa.RecordBatch],
    right: Iterable[pa.RecordBatch],
    key: str,
    schemas: tuple[pa.Schema, pa.Schema],
) -> Iterator[JoinedPiece]:
    """Join two streams piece by piece, with all rows of both; memory holds a few batches.

    Args:
        left: batches in the order of *key*; keys may repeat.
        right: batches in the order of *key*, each key once.
        key: a text column of both streams, without nulls.
        schemas: the schemas of left and right.
    """
    ours, theirs = Cursor(left, key, schemas[0]), Cursor(right, key, schemas[1])
    before = pa.array([], pa.string())  # the last left key so far
    while lasts := [side.key_at(-1) for side in (ours, theirs) if side.rows.num_rows]:
        bound = min(lasts)
        piece = ours.take(ours.upto(bound))
        at = pc.index_in(piece.column(key), value_set=theirs.rows.column(key))
        partners = theirs.rows.take(at)
        passed = theirs.upto(bound)
        if passed and ours.rows.num_rows and ours.key_at(0) == bound == theirs.key_at(passed - 1):
            passed -= 1  # the next left batch starts with this key
        others = theirs.take(passed)
        keys = pa.concat_arrays([before, piece.column(key)])
        unmatched = others.filter(pc.invert(pc.is_in(others.column(key), value_set=keys)))
        before = keys.slice(max(0, len(keys) - 1))
        yield JoinedPiece(piece, partners, unmatched)


def distinct(batches: Iterable[pa.RecordBatch], key: str) -> Iterator[pa.RecordBatch]:
    """Keep the first row of each key; the rows are in the order of *key*."""
    last = None
    for batch in batches:
        yield batch.filter(pc.invert(equals_previous(batch.column(key), last)))
        last = batch.column(key)[-1]


def equals_previous(column: pa.Array, last: pa.Scalar | None) -> pa.BooleanArray:
    """Mark values equal to the value before, which is *last* for the first; nulls are equal."""
    first = pa.array([last.as_py() if last is not None else None], column.type)
    before = pa.concat_arrays([first, column]).slice(0, len(column))
    equal = pc.fill_null(pc.equal(column, before), fill_value=False)
    return pc.or_(equal, pc.and_(pc.is_null(column), pc.is_null(before)))


def stored(file: IO[bytes], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Append batches to a file, compressed; return an iterator that reads them back."""
    schema = None
    places: list[tuple[int, int, int]] = []
    file.seek(0, os.SEEK_END)
    for batch in batches:
        schema = batch.schema
        whole = batch.serialize()
        packed = pa.compress(whole, codec=_CODEC)
        places.append((file.tell(), len(packed), whole.size))
        file.write(packed)
    file.flush()

    def read(offset: int, size: int, whole: int) -> pa.RecordBatch:
        packed = os.pread(file.fileno(), size, offset)
        data = pa.decompress(packed, decompressed_size=whole, codec=_CODEC)
        return pa.ipc.read_record_batch(data, schema)

    return (read(*place) for place in places)


def _sort(batches: Sequence[pa.RecordBatch], key: str) -> pa.RecordBatch:
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0].sort_by(key)


def _cut(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    for first in range(0, batch.num_rows, BATCH_ROWS):
        yield batch.slice(first, BATCH_ROWS)
