"""What a features file says before splits are decided: its groups, their labels, their splits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from audioloom_sharder.errors import BadFeatures
from audioloom_sharder.inputs.filters import Filters, take
from audioloom_sharder.inputs.window import Row, recording_name, rows_of
from audioloom_sharder.splits.lookup import NO_SPLIT, distinct_hashes, keys_of
from audioloom_sharder.splits.policy import SplitPolicy, group_of
from audioloom_sharder.splits.ratios import MOST_SPLITS, check_name, compile_pattern, said_by


@dataclass(frozen=True)
class Members:
    """One features file: its rows by `layout_of`, ascending; and splits that its paths name."""

    rows: NDArray[np.void]
    names: tuple[str, ...] = ()

    @property
    def keys(self) -> NDArray[np.uint64]:
        """Its groups or recordings, each once, ascending."""
        return np.unique(self.rows["key"])


def layout_of(policy: SplitPolicy) -> np.dtype[np.void]:
    """The fields of a row: what the way of splitting needs, and no more.

    ``key`` is what the split goes by; ``old`` its hash with the seed of the run that is kept to;
    ``label`` (its hash) and ``records`` with that label; ``said`` the number of the split that the
    path names.
    """
    fields = [("key", "<u8")]
    if policy.kept_seed is not None:
        fields.append(("old", "<u8"))
    if policy.stratify:
        fields += [("label", "<u8"), ("records", "<u4")]
    if policy.split_pattern is not None:
        fields.append(("said", "u1"))
    return np.dtype(fields)


def members_of(table: pa.Table, policy: SplitPolicy, filters: Filters) -> Members:
    """Gather the members of the windows that the filters take.

    Raises:
        BadFeatures: a path names a split that cannot be one, or there are too many.
    """
    taken, _ = take(table, filters)
    rows = list(rows_of(table.filter(pa.array(taken))))
    groups = [group_of(row, policy) for row in rows]
    found = np.zeros(len(rows), dtype=layout_of(policy))
    found["key"] = keys_of(rows, groups, policy)
    names: tuple[str, ...] = ()
    order = ["key"]
    if policy.kept_seed is not None:
        found["old"] = distinct_hashes(groups, policy.kept_seed)
    if policy.stratify:
        found["label"] = distinct_hashes([row.label or "" for row in rows], 0)
        order.append("label")
    if policy.split_pattern is not None:
        names = _read_pattern(rows, policy.split_pattern, found["said"])
    found = found[np.lexsort([found[name] for name in reversed(order)])]
    new = np.ones(len(found), bool)
    new[1:] = np.logical_or.reduce([found[name][1:] != found[name][:-1] for name in order])
    first = np.flatnonzero(new)
    if policy.stratify:
        found["records"][first] = np.diff(np.r_[first, len(found)])
    return Members(found[first], names)


def _read_pattern(rows: Sequence[Row], text: str, said: NDArray[np.uint8]) -> tuple[str, ...]:
    """Put the number of each row's split into *said*; the names, in the order of the numbers."""
    pattern = compile_pattern(text)
    by_path: dict[str, int] = {}
    names: dict[str, int] = {}
    for at, row in enumerate(rows):
        path = recording_name(row)
        if path not in by_path:
            split = said_by(pattern, path)
            by_path[path] = NO_SPLIT
            if split is not None:
                by_path[path] = names.setdefault(check_name(split, where=path), len(names))
            if len(names) > MOST_SPLITS:
                raise BadFeatures(
                    expected=f"at most {MOST_SPLITS} splits",
                    found=f"{split!r} beside {len(names) - 1} others",
                    where=path,
                    hint="See --split-pattern: its group split may catch too much.",
                )
        said[at] = by_path[path]
    return tuple(names)
