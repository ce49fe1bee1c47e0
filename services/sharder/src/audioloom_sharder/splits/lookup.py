"""The split of every window of a features file, where more than a hash decides it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from audioloom_sharder.inputs.window import Row, recording_name
from audioloom_sharder.splits.groups_file import find
from audioloom_sharder.splits.hashing import group_hashes, split_of
from audioloom_sharder.splits.policy import SplitPolicy

NO_SPLIT = 255
"""The number of a window that nothing says a split of."""


@dataclass(frozen=True)
class Placed:
    """What was decided for one features file.

    Attributes:
        keys: hashes of its groups or recordings (`keys_of`), ascending.
        splits: the split number of each, or `NO_SPLIT`.
    """

    keys: NDArray[np.uint64]
    splits: NDArray[np.uint8]

    def of(self, keys: NDArray[np.uint64]) -> NDArray[np.uint8]:
        """The split numbers of *keys*."""
        at = find(self.keys, keys)
        found = np.full(len(keys), NO_SPLIT, np.uint8)
        found[at >= 0] = self.splits[at[at >= 0]]
        return found


def distinct_hashes(names: Sequence[str], seed: int) -> NDArray[np.uint64]:
    """The hash of each of *names*, each different one hashed once."""
    different = sorted(set(names))
    by_name = dict(zip(different, group_hashes(different, seed=seed).tolist(), strict=True))
    return np.array([by_name[name] for name in names], dtype=np.uint64)


def keys_of(rows: Sequence[Row], groups: Sequence[str], policy: SplitPolicy) -> NDArray[np.uint64]:
    """What the split of each row is looked up by."""
    if policy.split_key == "recording":
        return distinct_hashes([recording_name(row) for row in rows], policy.seed)
    return distinct_hashes(groups, policy.seed)


def splits_of(
    rows: Sequence[Row],
    groups: Sequence[str],
    hashes: NDArray[np.uint64],
    policy: SplitPolicy,
    placed: Placed | None,
) -> NDArray[np.uint8]:
    """The split number of each row, `NO_SPLIT` for those that nothing says a split of.

    Args:
        rows: the rows.
        groups: of each, its group.
        hashes: of each, the hash of its group.
        policy: how splits are decided.
        placed: what was decided for the file; None where hash and shares say it all.
    """
    if placed is None:
        return split_of(hashes, policy.shares)
    by_group = policy.split_key == "group"
    return placed.of(hashes if by_group else keys_of(rows, groups, policy))
