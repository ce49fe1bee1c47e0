"""Look up the split of every window of a features file if more than a hash decides it."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from audioloom_sharder.inputs.window import Row
from audioloom_sharder.rules import Rules
from audioloom_sharder.splits.hashing import group_hashes, split_of
from audioloom_sharder.splits.ratios import NO_SPLIT


class SplitLookup(NamedTuple):
    """The split number of each key, or `NO_SPLIT`."""

    keys: NDArray[np.uint64]
    """Hashes of groups or recordings, ascending."""
    splits: NDArray[np.uint8]

    def find(self, keys: NDArray[np.uint64]) -> NDArray[np.uint8]:
        """Return the split numbers of *keys*, `NO_SPLIT` for unknown keys."""
        found = np.full(len(keys), NO_SPLIT, np.uint8)
        at = np.searchsorted(self.keys, keys)
        near = np.flatnonzero(at < len(self.keys))
        known = near[self.keys[at[near]] == keys[near]]
        found[known] = self.splits[at[known]]
        return found


def hash_each(names: Sequence[str], seed: int) -> NDArray[np.uint64]:
    """Hash each of *names*; every distinct name is hashed once."""
    distinct = sorted(set(names))
    by_name = dict(zip(distinct, group_hashes(distinct, seed=seed).tolist(), strict=True))
    return np.array([by_name[name] for name in names], dtype=np.uint64)


def lookup_keys(rows: Sequence[Row], groups: Sequence[str], rules: Rules) -> NDArray[np.uint64]:
    """Compute the lookup key of each row."""
    by_recording = rules.split_key == "recording"
    names = [row.path for row in rows] if by_recording else groups
    return hash_each(names, rules.recipe.seed)


def splits_of_rows(
    rows: Sequence[Row],
    groups: Sequence[str],
    hashes: NDArray[np.uint64],
    rules: Rules,
    lookup: SplitLookup | None,
) -> NDArray[np.uint8]:
    """Find the split number of each row, `NO_SPLIT` for rows without a split.

    The *groups* of the rows and their *hashes* decide with the ratios if there is no *lookup*.
    """
    if lookup is None:
        return split_of(hashes, rules.ratios)
    by_group = rules.split_key == "group"
    return lookup.find(hashes if by_group else lookup_keys(rows, groups, rules))
