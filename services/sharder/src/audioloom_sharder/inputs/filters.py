"""Filters for windows: by label, by flag, and by the samples that are not padding."""

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from audioloom_sharder.rules import Rules


def take(table: pa.Table | pa.RecordBatch, rules: Rules) -> tuple[NDArray[np.bool_], Counter[str]]:
    """Select the rows to take, and count the rows left out by the first reason.

    The table has the columns `label`, `flags` and `valid_samples`.
    """
    recipe = rules.recipe
    taken = np.ones(table.num_rows, bool)
    excluded: Counter[str] = Counter()

    def leave(reason: str, rows: NDArray[np.bool_]) -> None:
        excluded[reason] += int((taken & rows).sum())
        taken[rows] = False

    if recipe.only_labels is not None:
        wanted = pc.is_in(table.column("label"), pa.array(recipe.only_labels, pa.string()))
        leave("another label", ~_as_numpy(wanted))
    if recipe.without_flags:
        flags = table.column("flags")
        parents, words = _as_numpy(pc.list_parent_indices(flags)), pc.list_flatten(flags)
        for flag in recipe.without_flags:
            rows = np.zeros(table.num_rows, bool)
            rows[parents[_as_numpy(pc.equal(words, flag))]] = True
            leave(f"flag {flag}", rows)
    if recipe.min_seconds:
        samples = _as_numpy(table.column("valid_samples"))
        leave("too short", samples < recipe.min_seconds * rules.sample_rate)
    return taken, excluded


def _as_numpy(column: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return np.asarray(whole.to_numpy(zero_copy_only=False))
