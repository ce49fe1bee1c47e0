"""Filters for windows: by label, by flag, and by the samples that are not padding."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray


@dataclass(frozen=True)
class Filters:
    """The conditions that a window has to meet.

    Attributes:
        only_labels: the window has one of these labels; None takes every window.
        without_flags: the window has none of these flags.
        min_samples: the window has at least so many samples that are not padding.
    """

    only_labels: tuple[str, ...] | None = None
    without_flags: tuple[str, ...] = ()
    min_samples: float = 0.0


EVERYTHING = Filters()


def take(
    table: pa.Table | pa.RecordBatch, filters: Filters
) -> tuple[NDArray[np.bool_], Counter[str]]:
    """Select the rows to take, and count the rows left out by the first reason.

    Args:
        table: rows with the columns `label`, `flags` and `valid_samples`.
        filters: the conditions.
    """
    taken = np.ones(table.num_rows, bool)
    excluded: Counter[str] = Counter()

    def leave(reason: str, rows: NDArray[np.bool_]) -> None:
        excluded[reason] += int((taken & rows).sum())
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
    return taken, excluded


def _as_numpy(column: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return np.asarray(whole.to_numpy(zero_copy_only=False))
