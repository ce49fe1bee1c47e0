"""The members of a features file: its groups or recordings, their labels, and splits by pattern."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from audioloom_sharder.errors import BadFeatures
from audioloom_sharder.inputs.filters import take
from audioloom_sharder.inputs.window import Row, group_of, rows_of
from audioloom_sharder.rules import Rules
from audioloom_sharder.splits.hashing import run_starts
from audioloom_sharder.splits.lookup import hash_each, lookup_keys
from audioloom_sharder.splits.ratios import (
    MOST_SPLITS,
    NO_SPLIT,
    check_split_name,
    compile_pattern,
    split_of_path,
)


class Members(NamedTuple):
    """The members of one features file: rows of `member_dtype`, ascending, and split names."""

    rows: NDArray[np.void]
    names: Sequence[str] = ()
    """The splits that a pattern finds in the paths."""

    @property
    def keys(self) -> NDArray[np.uint64]:
        """The groups or recordings, each once, ascending."""
        return np.unique(self.rows["key"])


def member_dtype(rules: Rules) -> np.dtype[np.void]:
    """Return the dtype of a row: only the fields that the run needs.

    ``key`` decides the split; ``old`` is its hash with the seed of the previous run; ``label`` is
    the hash of a label and ``records`` the number of records with it; ``split`` is the number of
    the split that a pattern finds in the path.
    """
    fields = [("key", "<u8")]
    if rules.previous_seed is not None:
        fields.append(("old", "<u8"))
    if rules.recipe.stratify:
        fields += [("label", "<u8"), ("records", "<u4")]
    if rules.recipe.split_pattern is not None:
        fields.append(("split", "u1"))
    return np.dtype(fields)


def members_of(table: pa.Table, rules: Rules) -> Members:
    """Collect the members of the windows that pass the filters.

    Raises:
        BadFeatures: a path names an invalid split, or there are too many splits.
    """
    recipe = rules.recipe
    taken, _ = take(table, rules)
    rows = list(rows_of(table.filter(pa.array(taken))))
    groups = [group_of(row, rules) for row in rows]
    found = np.zeros(len(rows), dtype=member_dtype(rules))
    found["key"] = lookup_keys(rows, groups, rules)
    names: tuple[str, ...] = ()
    order = ["key"]
    if rules.previous_seed is not None:
        found["old"] = hash_each(groups, rules.previous_seed)
    if recipe.stratify:
        found["label"] = hash_each([row.label or "" for row in rows], 0)
        order.append("label")
    if recipe.split_pattern is not None:
        names = _match_paths(rows, recipe.split_pattern, found["split"])
    found = found[np.lexsort([found[name] for name in reversed(order)])]
    first = run_starts(*(found[name] for name in order))
    if recipe.stratify:
        found["records"][first] = np.diff(np.r_[first, len(found)])
    return Members(found[first], names)


def _match_paths(rows: Sequence[Row], text: str, splits: NDArray[np.uint8]) -> tuple[str, ...]:
    """Write the number of each row's split into *splits*; return the names by number."""
    pattern = compile_pattern(text)
    by_path: dict[str, int] = {}
    names: dict[str, int] = {}
    for at, row in enumerate(rows):
        path = row.path
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
