"""The members of a features file: its groups or recordings, their labels, and splits by pattern."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from audioloom_sharder.errors import BadFeatures
from audioloom_sharder.inputs.filters import Filters, take
from audioloom_sharder.inputs.window import Row, recording_name, rows_of
from audioloom_sharder.splits.lookup import NO_SPLIT, hash_each, lookup_keys
from audioloom_sharder.splits.policy import SplitPolicy, group_of
from audioloom_sharder.splits.ratios import (
    MOST_SPLITS,
    check_split_name,
    compile_pattern,
    split_of_path,
)


@dataclass(frozen=True)
class Members:
    """The members of one features file: rows of `member_dtype`, ascending, and split names."""

    rows: NDArray[np.void]
    names: tuple[str, ...] = ()
    """The splits that a pattern finds in the paths."""

    @property
    def keys(self) -> NDArray[np.uint64]:
        """The groups or recordings, each once, ascending."""
        return np.unique(self.rows["key"])


def member_dtype(policy: SplitPolicy) -> np.dtype[np.void]:
    """Return the dtype of a row: only the fields that the policy needs.

    ``key`` decides the split; ``old`` is its hash with the seed of the previous run; ``label`` is
    the hash of a label and ``records`` the number of records with it; ``split`` is the number of
    the split that a pattern finds in the path.
    """
    fields = [("key", "<u8")]
    if policy.previous_seed is not None:
        fields.append(("old", "<u8"))
    if policy.stratify:
        fields += [("label", "<u8"), ("records", "<u4")]
    if policy.split_pattern is not None:
        fields.append(("split", "u1"))
    return np.dtype(fields)


def members_of(table: pa.Table, policy: SplitPolicy, filters: Filters) -> Members:
    """Collect the members of the windows that pass the filters.

    Raises:
        BadFeatures: a path names an invalid split, or there are too many splits.
    """
    taken, _ = take(table, filters)
    rows = list(rows_of(table.filter(pa.array(taken))))
    groups = [group_of(row, policy) for row in rows]
    found = np.zeros(len(rows), dtype=member_dtype(policy))
    found["key"] = lookup_keys(rows, groups, policy)
    names: tuple[str, ...] = ()
    order = ["key"]
    if policy.previous_seed is not None:
        found["old"] = hash_each(groups, policy.previous_seed)
    if policy.stratify:
        found["label"] = hash_each([row.label or "" for row in rows], 0)
        order.append("label")
    if policy.split_pattern is not None:
        names = _match_paths(rows, policy.split_pattern, found["split"])
    found = found[np.lexsort([found[name] for name in reversed(order)])]
    new = np.ones(len(found), bool)
    new[1:] = np.logical_or.reduce([found[name][1:] != found[name][:-1] for name in order])
    first = np.flatnonzero(new)
    if policy.stratify:
        found["records"][first] = np.diff(np.r_[first, len(found)])
    return Members(found[first], names)


def _match_paths(rows: Sequence[Row], text: str, splits: NDArray[np.uint8]) -> tuple[str, ...]:
    """Write the number of each row's split into *splits*; return the names by number."""
    pattern = compile_pattern(text)
    by_path: dict[str, int] = {}
    names: dict[str, int] = {}
    for at, row in enumerate(rows):
        path = recording_name(row)
        if path not in by_path:
            split = split_of_path(pattern, path)
            by_path[path] = NO_SPLIT
            if split is not None:
                by_path[path] = names.setdefault(check_split_name(split, where=path), len(names))
            if len(names) > MOST_SPLITS:
                raise BadFeatures(
                    expected=f"at most {MOST_SPLITS} splits",
                    found=f"{split!r} besides {len(names) - 1} others",
                    where=path,
                    hint="The group split of --split-pattern may match too much.",
                )
        splits[at] = by_path[path]
    return tuple(names)
