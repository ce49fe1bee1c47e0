"""Take a sample of recordings: those whose paths have the smallest digests.

A larger sample of the same listing contains a smaller one.
"""

import hashlib
import heapq
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from audioloom_featurizer.inventory.schema import BATCH_ROWS, ROWS
from audioloom_featurizer.inventory.tally import Tally


def sample_rows(
    batches: Iterable[pa.RecordBatch], most: int, tally: Tally
) -> Iterator[pa.RecordBatch]:
    """Yield the sample as batches of `ROWS`, in the order of the paths; memory holds its rows."""

    def digests() -> Iterator[tuple[bytes, str, dict[str, Any]]]:
        for batch in batches:
            tally.add("sampled", batch.column("path"))
            for row in batch.to_pylist():
                yield hashlib.sha256(row["path"].encode()).digest(), row["path"], row

    chosen = heapq.nsmallest(most, digests(), key=lambda each: each[:2])
    rows = [row for _, _, row in sorted(chosen, key=lambda each: each[1].encode())]
    for first in range(0, len(rows), BATCH_ROWS):
        yield pa.RecordBatch.from_pylist(rows[first : first + BATCH_ROWS], schema=ROWS)
