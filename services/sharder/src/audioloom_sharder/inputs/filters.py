"""Which windows are taken: by label, by flag, by how much of a window is recording."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray


@dataclass(frozen=True)
class Filters:
    """What a window has to be.

    Attributes:
        only_labels: it has one of these; None takes any, and those without.
        without_flags: it has none of these.
        min_samples: so much of it is recording, and not padding.
    """

    only_labels: tuple[str, ...] | None = None
    without_flags: tuple[str, ...] = ()
    min_samples: float = 0.0


EVERYTHING = Filters()


def take(
    table: pa.Table | pa.RecordBatch, filters: Filters
) -> tuple[NDArray[np.bool_], Counter[str]]:
    """Which rows are taken, and how many are left out for each reason: a row for the first of them.

    Args:
        table: rows with the columns `label`, `flags` and `valid_samples`.
        filters: what is asked for.
    """
    taken = np.ones(table.num_rows, bool)
    left_out: Counter[str] = Counter()

    def leave(reason: str, rows: NDArray[np.bool_]) -> None:
        left_out[reason] += int((taken & rows).sum())
        taken[rows] = False

    if filters.only_labels is not None:
        wanted = pc.is_in(table.column("label"), pa.array(filters.only_labels, pa.string()))
        leave("another label", ~_as_numpy(wanted))
    if filters.without_flags:
        flags = table.column("flags")
        parents, words = _as_numpy(pc.list_parent_indices(flags)), pc.list_flatten(flags)
        for flag in filters.without_flags:
            rows = np.zeros(table.num_rows, bool)
            rows[parents[_as_numpy(pc.equal(words, flag))]] = True
            leave(f"flag {flag}", rows)
    if filters.min_samples:
        samples = _as_numpy(table.column("valid_samples"))
        leave("too short", samples < filters.min_samples)
    return taken, left_out


def _as_numpy(column: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return np.asarray(whole.to_numpy(zero_copy_only=False))
