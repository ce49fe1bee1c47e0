"""Take a sample of recordings: those whose paths have the smallest digests.

A larger sample of the same listing contains a smaller one.
"""

import hashlib
import heapq
from collections.abc import Iterable, Iterator
from typing import TypeVar

import pyarrow as pa

from audioloom_featurizer.inventory.schema import BATCH_ROWS, ROWS
from audioloom_featurizer.inventory.tally import Tally

T = TypeVar("T")


def sample_rows(
    batches: Iterable[pa.RecordBatch], most: int, tally: Tally
) -> Iterator[pa.RecordBatch]:
    """Yield the sample as batches of `ROWS`, in the order of the paths; memory holds its rows."""

    def rows() -> Iterator[tuple[str, dict[str, object]]]:
        for batch in batches:
            tally.add("sampled", batch.column("path"))
            yield from ((row["path"], row) for row in batch.to_pylist())

    chosen = sorted(smallest_digests(rows(), most), key=lambda each: each[0].encode())
    for first in range(0, len(chosen), BATCH_ROWS):
        some = [row for _, row in chosen[first : first + BATCH_ROWS]]
        yield pa.RecordBatch.from_pylist(some, schema=ROWS)


def smallest_digests(pairs: Iterable[tuple[str, T]], most: int) -> list[tuple[str, T]]:
    """Take the *most* pairs of a path and a value whose paths have the smallest SHA-256."""
    return heapq.nsmallest(most, pairs, key=lambda pair: hashlib.sha256(pair[0].encode()).digest())
