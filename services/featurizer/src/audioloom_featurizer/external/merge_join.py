"""Join two sorted streams by a key."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from audioloom_featurizer.external.sort import Cursor


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
    while lasts := [side.last for side in (ours, theirs) if side.rows.num_rows]:
        bound = min(lasts)
        piece = ours.take(ours.upto(bound))
        at = pc.index_in(piece.column(key), value_set=theirs.rows.column(key))
        partners = theirs.rows.take(at)
        passed = theirs.upto(bound)
        if ours.rows.num_rows and ours.key_at(0) == bound:
            passed -= (
                passed > 0 and theirs.key_at(passed - 1) == bound
            )  # the next left batch may start with this key
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
    before = pa.concat_arrays([first, column.slice(0, len(column) - 1)])
    equal = pc.fill_null(pc.equal(column, before), fill_value=False)
    return pc.or_(equal, pc.and_(pc.is_null(column), pc.is_null(before)))
