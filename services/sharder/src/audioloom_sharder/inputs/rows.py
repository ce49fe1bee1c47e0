"""The identity columns of windows as rows, and the filters by label, flag and length."""

from collections import Counter
from collections.abc import Iterator
from itertools import starmap
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from audioloom_sharder.rules import Rules


class Row(NamedTuple):
    """The identity columns of one window."""

    path: str
    channel: int
    window: int
    label: str | None
    target: float | None
    group: str | None
    valid_frames: int
    recording_sha256: str


def rows_of(table: pa.Table | pa.RecordBatch) -> Iterator[Row]:
    """Convert a table with the identity columns to rows."""
    return starmap(Row, zip(*(table.column(name).to_pylist() for name in Row._fields), strict=True))


def group_of(row: Row, rules: Rules) -> str:
    """Return the group that decides the split of a row; "" for a row without a group."""
    if row.group:
        return row.group
    return row.path if rules.recipe.ungrouped == "by-recording" else ""


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
