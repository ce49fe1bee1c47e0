"""Decide the split of every group, or recording, from what all features files say of theirs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from audioloom_sharder.errors import BadFeatures
from audioloom_sharder.splits.groups_file import find, numbers_of
from audioloom_sharder.splits.hashing import split_of
from audioloom_sharder.splits.lookup import NO_SPLIT
from audioloom_sharder.splits.members import Members
from audioloom_sharder.splits.policy import SplitPolicy
from audioloom_sharder.splits.previous_run import Given
from audioloom_sharder.splits.ratios import MOST_SPLITS
from audioloom_sharder.splits.stratified import FREE, stratify


@dataclass(frozen=True)
class Settled:
    """The names of the splits; for each features file, a split number for each of its keys."""

    names: tuple[str, ...]
    splits: list[NDArray[np.uint8]]


def settle(members: Sequence[Members], policy: SplitPolicy, given: Given, where: str) -> Settled:
    """Decide. The order of the files, and how groups lie in them, makes no difference.

    Args:
        members: of each features file.
        policy: how splits are decided.
        given: the run that is kept to, or the table.
        where: the inputs, for errors.

    Raises:
        BadFeatures: a pattern or a table names no split at all, or too many.
        ManifestError, BadTable: what is given is damaged.
    """
    if policy.split_pattern is not None:
        return _by_pattern(members, where, policy.split_pattern)
    if given.table is not None:
        said = given.table.read(seed=policy.seed)
        if not said.names:
            raise BadFeatures(expected="splits", found="none", where=given.table.location)
        places = [find(said.keys, one.keys) for one in members]
        return Settled(
            said.names,
            [np.where(at >= 0, _at(said.splits, at), np.uint8(NO_SPLIT)) for at in places],
        )
    whole = np.concatenate([one.rows for one in members])
    order = ("label", "key") if policy.stratify else ("key",)
    whole = whole[np.lexsort([whole[name] for name in order])]
    new = np.ones(len(whole), bool)
    new[1:] = whole["key"][1:] != whole["key"][:-1]
    keys = whole["key"][new]
    pinned = np.full(len(keys), FREE, np.uint8)
    if given.kept is not None:
        pinned = numbers_of(given.kept.read(policy.splits), whole["old"][new], FREE)
    if policy.stratify:
        splits = _stratified(whole, policy, pinned)
    else:
        splits = np.where(pinned == FREE, split_of(keys, policy.shares), pinned)
    return Settled(policy.splits, [splits[np.searchsorted(keys, one.keys)] for one in members])


def _stratified(
    whole: NDArray[np.void], policy: SplitPolicy, pinned: NDArray[np.uint8]
) -> NDArray[np.uint8]:
    """A group may lie in several files: its records of one label are added up first."""
    new = np.ones(len(whole), bool)
    new[1:] = (whole["key"][1:] != whole["key"][:-1]) | (whole["label"][1:] != whole["label"][:-1])
    first = np.flatnonzero(new)
    records = np.empty(0, np.int64)
    if len(first):
        records = np.add.reduceat(whole["records"].astype(np.int64), first)
    return stratify(whole["key"][first], whole["label"][first], records, policy.shares, pinned)


def _by_pattern(members: Sequence[Members], where: str, pattern: str) -> Settled:
    names = tuple(sorted({name for one in members for name in one.names}))
    if not names:
        raise BadFeatures(
            expected="a pattern for the whole path of a recording, as the features have it",
            found=f"none that {pattern} describes",
            where=where,
            hint="audioloom-featurizer inspect shows some of their paths.",
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
        splits.append(numbers[one.rows["said"][first]])
    return Settled(names, splits)


def _at(splits: NDArray[np.uint8], at: NDArray[np.intp]) -> NDArray[np.uint8]:
    return splits[np.maximum(at, 0)] if len(splits) else np.full(len(at), NO_SPLIT, np.uint8)
