"""Join two sorted streams by a key."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from audioloom_featurizer.external.sort import count_up_to


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
    ours, theirs = _Cursor(left, key, schemas[0]), _Cursor(right, key, schemas[1])
    while lasts := [side.last for side in (ours, theirs) if side.rows.num_rows]:
        bound = min(lasts)
        piece = ours.rows.slice(0, ours.upto(bound))
        at = pc.index_in(piece.column(key), value_set=theirs.rows.column(key))
        theirs.joined[np.asarray(at.drop_null())] = True
        partners = theirs.rows.take(at)
        ours.drop(piece.num_rows)
        passed = theirs.upto(bound)
        if ours.rows.num_rows and ours.first == bound:
            passed -= (
                passed > 0 and theirs.key_at(passed - 1) == bound
            )  # the next left batch may start with this key
        alone = pa.array(~theirs.joined[:passed])
        unmatched = theirs.rows.slice(0, passed).filter(alone)
        theirs.drop(passed)
        yield JoinedPiece(piece, partners, unmatched)


class _Cursor:
    """A stream and the rest of its current batch, which is empty at the end of the stream."""

    def __init__(self, stream: Iterable[pa.RecordBatch], key: str, schema: pa.Schema) -> None:
        self._stream = iter(stream)
        self._key = key
        self._none = pa.RecordBatch.from_pylist([], schema=schema)
        self._hold(self._none)
        self.drop(0)

    def _hold(self, rows: pa.RecordBatch) -> None:
        self.rows = rows
        self.joined = np.zeros(rows.num_rows, bool)
        self._measure()

    def _measure(self) -> None:
        if self.rows.num_rows:
            self.first, self.last = self.key_at(0), self.key_at(self.rows.num_rows - 1)

    def key_at(self, row: int) -> str:
        return str(self.rows.column(self._key)[row].as_py())

    def upto(self, bound: str) -> int:
        return count_up_to(self.rows.column(self._key), bound)

    def drop(self, count: int) -> None:
        """Drop the first rows; read the next batch if no row is left."""
        if count < self.rows.num_rows:
            self.rows, self.joined = self.rows.slice(count), self.joined[count:]
            self._measure()
        else:
            self._hold(next((batch for batch in self._stream if batch.num_rows), self._none))


def distinct(batches: Iterable[pa.RecordBatch], key: str) -> Iterator[pa.RecordBatch]:
    """Keep the first row of each key; the rows are in the order of *key*."""
    last = None
    for batch in batches:
        yield batch.filter(pc.invert(equals_previous(batch.column(key), last)))
        last = batch.column(key)[batch.num_rows - 1]


def equals_previous(column: pa.Array, last: pa.Scalar | None) -> pa.BooleanArray:
    """Mark values equal to the value before, which is *last* for the first; nulls are equal."""
    first = pa.array([last.as_py() if last is not None else None], column.type)
    before = pa.concat_arrays([first, column.slice(0, len(column) - 1)])
    equal = pc.fill_null(pc.equal(column, before), fill_value=False)
    return pc.or_(equal, pc.and_(pc.is_null(column), pc.is_null(before)))
