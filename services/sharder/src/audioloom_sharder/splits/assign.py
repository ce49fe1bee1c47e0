"""Assign every group or recording to a split, from the members of all features files."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from audioloom_sharder.errors import BadFeatures
from audioloom_sharder.splits.groups_file import splits_of_groups
from audioloom_sharder.splits.hashing import split_of
from audioloom_sharder.splits.lookup import NO_SPLIT, SplitLookup
from audioloom_sharder.splits.members import Members
from audioloom_sharder.splits.policy import SplitPolicy
from audioloom_sharder.splits.ratios import MOST_SPLITS
from audioloom_sharder.splits.sources import SplitSources
from audioloom_sharder.splits.stratified import FREE, stratify


@dataclass(frozen=True)
class SplitDecision:
    """The names of the splits, and for each features file the split number of each of its keys."""

    names: tuple[str, ...]
    splits: list[NDArray[np.uint8]]


def assign_splits(
    members: Sequence[Members], policy: SplitPolicy, sources: SplitSources, where: str
) -> SplitDecision:
    """Assign all keys, independent of the order of the files and of the groups within them.

    Args:
        members: the members of each features file.
        policy: how splits are decided.
        sources: the previous run or the split table, where the policy needs one.
        where: the inputs, for errors.

    Raises:
        BadFeatures: a pattern or a table names no split, or too many.
        ManifestError, BadTable: the previous run or the table is damaged.
    """
    if policy.split_pattern is not None:
        return _by_pattern(members, where, policy.split_pattern)
    if sources.table is not None:
        table = sources.table.read(seed=policy.seed)
        if not table.names:
            raise BadFeatures(expected="splits", found="none", where=sources.table.location)
        lookup = SplitLookup(table.keys, table.splits)
        return SplitDecision(table.names, [lookup.find(one.keys) for one in members])
    whole = np.concatenate([one.rows for one in members])
    order = ("label", "key") if policy.stratify else ("key",)
    whole = whole[np.lexsort([whole[name] for name in order])]
    new = np.ones(len(whole), bool)
    new[1:] = whole["key"][1:] != whole["key"][:-1]
    keys = whole["key"][new]
    pinned = np.full(len(keys), FREE, np.uint8)
    if sources.previous_run is not None:
        groups = sources.previous_run.read(policy.splits)
        pinned = splits_of_groups(groups, whole["old"][new], FREE)
    if policy.stratify:
        splits = _stratified(whole, policy, pinned)
    else:
        splits = np.where(pinned == FREE, split_of(keys, policy.ratios), pinned)
    found = [splits[np.searchsorted(keys, one.keys)] for one in members]
    return SplitDecision(policy.splits, found)


def _stratified(
    whole: NDArray[np.void], policy: SplitPolicy, pinned: NDArray[np.uint8]
) -> NDArray[np.uint8]:
    # A group may lie in several files, so add up its records of each label first.
    new = np.ones(len(whole), bool)
    new[1:] = (whole["key"][1:] != whole["key"][:-1]) | (whole["label"][1:] != whole["label"][:-1])
    first = np.flatnonzero(new)
    records = np.empty(0, np.int64)
    if len(first):
        records = np.add.reduceat(whole["records"].astype(np.int64), first)
    return stratify(whole["key"][first], whole["label"][first], records, policy.ratios, pinned)


def _by_pattern(members: Sequence[Members], where: str, pattern: str) -> SplitDecision:
    names = tuple(sorted({name for one in members for name in one.names}))
    if not names:
        raise BadFeatures(
            expected="a pattern for the whole path of a recording, as the features have it",
            found=f"no path that {pattern} matches",
            where=where,
            hint="audioloom-featurizer inspect shows some of the paths.",
        )
    if len(names) > MOST_SPLITS:
        raise BadFeatures(
            expected=f"at most {MOST_SPLITS} splits",
            found=f"{len(names)}, as {', '.join(names[:5])} …",
            where=where,
        )
    splits = []
    for one in members:
        numbers = np.full(NO_SPLIT + 1, NO_SPLIT, np.uint8)
        numbers[: len(one.names)] = [names.index(name) for name in one.names]
        _, first = np.unique(one.rows["key"], return_index=True)
        splits.append(numbers[one.rows["split"][first]])
    return SplitDecision(names, splits)
