"""Look up the split of every window of a features file if more than a hash decides it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from audioloom_sharder.inputs.window import Row, recording_name
from audioloom_sharder.splits.groups_file import find_sorted
from audioloom_sharder.splits.hashing import group_hashes, split_of
from audioloom_sharder.splits.policy import SplitPolicy

NO_SPLIT = 255
"""The split number of a window that has no split."""


@dataclass(frozen=True)
class SplitLookup:
    """Split numbers by key.

    Attributes:
        keys: hashes of groups or recordings (`lookup_keys`), ascending.
        splits: the split number of each key, or `NO_SPLIT`.
    """

    keys: NDArray[np.uint64]
    splits: NDArray[np.uint8]

    def find(self, keys: NDArray[np.uint64]) -> NDArray[np.uint8]:
        """Return the split numbers of *keys*, `NO_SPLIT` for unknown keys."""
        at = find_sorted(self.keys, keys)
        found = np.full(len(keys), NO_SPLIT, np.uint8)
        found[at >= 0] = self.splits[at[at >= 0]]
        return found


def hash_each(names: Sequence[str], seed: int) -> NDArray[np.uint64]:
    """Hash each of *names*; every distinct name is hashed once."""
    distinct = sorted(set(names))
    by_name = dict(zip(distinct, group_hashes(distinct, seed=seed).tolist(), strict=True))
    return np.array([by_name[name] for name in names], dtype=np.uint64)


def lookup_keys(
    rows: Sequence[Row], groups: Sequence[str], policy: SplitPolicy
) -> NDArray[np.uint64]:
    """Compute the lookup key of each row."""
    if policy.split_key == "recording":
        return hash_each([recording_name(row) for row in rows], policy.seed)
    return hash_each(groups, policy.seed)


def splits_of_rows(
    rows: Sequence[Row],
    groups: Sequence[str],
    hashes: NDArray[np.uint64],
    policy: SplitPolicy,
    lookup: SplitLookup | None,
) -> NDArray[np.uint8]:
    """Find the split number of each row, `NO_SPLIT` for rows without a split.

    Args:
        rows: the rows.
        groups: the group of each row.
        hashes: the hash of each group.
        policy: how splits are decided.
        lookup: the decided splits of the file; None if hashes and ratios decide.
    """
    if lookup is None:
        return split_of(hashes, policy.ratios)
    by_group = policy.split_key == "group"
    return lookup.find(hashes if by_group else lookup_keys(rows, groups, policy))
