"""The members of a features file: its groups or recordings, their labels, and splits by pattern."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from audioloom_sharder.errors import BadFeatures
from audioloom_sharder.inputs.rows import Row
from audioloom_sharder.rules import Rules
from audioloom_sharder.splits.assign import Members, member_dtype
from audioloom_sharder.splits.hashing import hash_each, run_starts
from audioloom_sharder.splits.ratios import (
    MOST_SPLITS,
    NO_SPLIT,
    check_split_name,
    compile_pattern,
    split_of_path,
)
from audioloom_sharder.windows.selection import Windows


def members_of(windows: Windows, rules: Rules) -> Members:
    """Collect the members of the windows, whose splits are not decided yet.

    Raises:
        BadFeatures: a path names an invalid split, or there are too many splits.
    """
    recipe, rows = rules.recipe, windows.rows
    found = np.zeros(len(rows), dtype=member_dtype(rules))
    found["key"] = windows.keys(rules)
    names: tuple[str, ...] = ()
    order = ["key"]
    if rules.previous_seed is not None:
        found["old"] = hash_each(windows.groups, rules.previous_seed)
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
