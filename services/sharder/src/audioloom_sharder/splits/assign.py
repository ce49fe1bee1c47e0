"""Assign every group or recording to a split, from the members of all features files."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from audioloom_sharder.errors import BadFeatures
from audioloom_sharder.rules import Rules
from audioloom_sharder.splits.groups_file import PreviousRun
from audioloom_sharder.splits.hashing import SplitLookup, run_starts, split_of
from audioloom_sharder.splits.ratios import MOST_SPLITS, NO_SPLIT
from audioloom_sharder.splits.stratified import stratify
from audioloom_sharder.splits.table import SplitTable

SplitSource = PreviousRun | SplitTable | None
"""The source of splits besides ratios, hashes and patterns."""

SplitDecision = tuple[tuple[str, ...], list[NDArray[np.uint8]]]
"""The names of the splits, and for each features file the split number of each of its keys."""


class Members(NamedTuple):
    """The members of one features file: rows of `member_dtype`, ascending, and split names."""

    rows: NDArray[np.void]
    names: Sequence[str] = ()
    """The splits that a pattern finds in the paths."""
    first_path: str = ""
    """The first of the paths, for the message that a pattern finds no split in them."""

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


def assign_splits(
    members: Sequence[Members], rules: Rules, source: SplitSource, where: str
) -> SplitDecision:
    """Assign all keys, independent of the order of the files and of the groups within them.

    Raises:
        BadFeatures: a pattern or a table names no split, or too many.
        ManifestError, BadTable: the previous run or the table is damaged.
    """
    recipe = rules.recipe
    if recipe.split_pattern is not None:
        return _by_pattern(members, where, recipe.split_pattern)
    if isinstance(source, SplitTable):
        names, lookup = source.read(seed=recipe.seed)
        if not names:
            raise BadFeatures(expected="splits", found="none", where=source.location)
        return names, [lookup.find(one.keys) for one in members]
    whole = np.concatenate([one.rows for one in members])
    order = ("label", "key") if recipe.stratify else ("key",)
    whole = whole[np.lexsort([whole[name] for name in order])]
    first = run_starts(whole["key"])
    keys = whole["key"][first]
    pinned = np.full(len(keys), NO_SPLIT, np.uint8)
    if source is not None:
        pinned = source.read(rules.splits).find(whole["old"][first])
    if recipe.stratify:
        splits = _stratified(whole, rules, pinned)
    else:
        splits = np.where(pinned == NO_SPLIT, split_of(keys, rules.ratios), pinned)
    lookup = SplitLookup(keys, splits)
    return rules.splits, [lookup.find(one.keys) for one in members]


def _stratified(
    whole: NDArray[np.void], rules: Rules, pinned: NDArray[np.uint8]
) -> NDArray[np.uint8]:
    # A group may lie in several files, so add up its records of each label first.
    first = run_starts(whole["key"], whole["label"])
    records = np.empty(0, np.int64)
    if len(first):
        records = np.add.reduceat(whole["records"].astype(np.int64), first)
    return stratify(whole["key"][first], whole["label"][first], records, rules.ratios, pinned)


def _by_pattern(members: Sequence[Members], where: str, pattern: str) -> SplitDecision:
    names = tuple(sorted({name for one in members for name in one.names}))
    if not names:
        first = min((one.first_path for one in members if one.first_path), default="")
        raise BadFeatures(
            expected="a pattern for the whole path of a recording, as the features have it",
            found=f"no path that {pattern} matches"
            + (f"; the first path is {first}" if first else ""),
            where=where,
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
        splits.append(numbers[one.rows["split"][run_starts(one.rows["key"])]])
    return names, splits
