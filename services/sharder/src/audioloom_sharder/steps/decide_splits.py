"""Decide the splits before the scan if hashes are not enough: gather members, then assign."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa
from audioloom_manifest.receipts import Receipt, read_receipts
from numpy.typing import NDArray

from audioloom_sharder.errors import BadFeatures
from audioloom_sharder.inputs.manifests import Inputs, Source
from audioloom_sharder.inputs.reader import read_identities
from audioloom_sharder.inputs.rows import Row
from audioloom_sharder.io.executor import RunUnits
from audioloom_sharder.rules import Rules
from audioloom_sharder.splits.assign import Members, SplitSource, assign_splits, member_dtype
from audioloom_sharder.splits.hashing import SplitLookup, hash_each, run_starts
from audioloom_sharder.splits.ratios import (
    MOST_SPLITS,
    NO_SPLIT,
    check_split_name,
    compile_pattern,
    split_of_path,
)
from audioloom_sharder.steps.job import (
    MEMBERS,
    SPLITS,
    Job,
    StoredArray,
    publish_arrays,
    stored,
    unit_name,
)
from audioloom_sharder.windows.selection import Windows, windows_of

_OTHER_NAMES = "Other names can be given in a table: --split-table."
_SPLIT, _START = np.dtype("u1"), np.dtype("<i8")


@dataclass(frozen=True)
class SourceUnit(Source):
    """A features file as a unit of work: its number, and its decided splits where there are any."""

    number: int
    decided: Callable[[], SplitLookup] | None = None

    def lookup(self) -> SplitLookup | None:
        """Return the decided splits of the file; None if the hash alone decides."""
        return None if self.decided is None else self.decided()

    def table(self, rules: Rules) -> pa.Table:
        """Read the identity columns of the file."""
        return read_identities(self, rules.feature)

    def windows(self, rules: Rules) -> Windows:
        """Read the windows of the file."""
        return windows_of(self.table(rules), rules, self.lookup())


def source_units(inputs: Inputs) -> list[SourceUnit]:
    """Return one unit for each features file."""
    return [SourceUnit(**vars(each), number=at) for at, each in enumerate(inputs.sources)]


def gather_source(job: Job, unit: SourceUnit) -> Receipt:
    """Gather the members of a features file: a unit of the first step."""
    members = _members_of(unit.windows(job.rules), job.rules)
    counts = {"names": members.names, "first_path": members.first_path}
    return publish_arrays(job, MEMBERS, unit.number, [members.rows], counts)


def assign_all(job: Job, files: int, number: int) -> Receipt:
    """Decide the split of every group, over all files: the only unit of the second step."""
    dtype = member_dtype(job.rules)
    units = [unit_name(job, MEMBERS, each) for each in range(files)]
    receipts = read_receipts(job.folder_of(MEMBERS), units)
    gathered = [receipts[unit] for unit in units]
    members = [
        Members(
            stored(job, MEMBERS, one).read(dtype),
            one.counts["names"],
            one.counts.get("first_path", ""),  # an earlier release did not note it
        )
        for one in gathered
    ]
    names, splits = assign_splits(members, job.rules, job.split_source, job.where)
    starts = np.cumsum([0, *map(len, splits)], dtype=_START)
    return publish_arrays(job, SPLITS, number, [starts, np.concatenate(splits)], {"names": names})


def with_splits(
    job: Job, units: Sequence[SourceUnit], gathered: Sequence[Receipt], receipt: Receipt
) -> tuple[Job, list[SourceUnit]]:
    """Return the job and its units with the decided splits, from the receipts of both steps."""
    dtype = member_dtype(job.rules)
    splits = stored(job, SPLITS, receipt), stored(job, SPLITS, receipt, 1)
    decided = []
    for unit, one in zip(units, gathered, strict=True):
        lookup = partial(_lookup, stored(job, MEMBERS, one), dtype, splits, unit.number)
        decided.append(replace(unit, decided=lookup))
    rules = replace(job.rules, data_splits=tuple(receipt.counts["names"]))
    return replace(job, rules=rules), decided


def decide_in_memory(
    inputs: Inputs, rules: Rules, split_source: SplitSource, run_units: RunUnits
) -> tuple[Rules, list[SourceUnit]]:
    """Decide the splits without a run folder; return the rules and one unit for each file.

    The caller holds 9 bytes per group of each file, and about 100 while splits are decided.
    """
    units = source_units(inputs)
    if not rules.needs_lookup:
        return rules, units
    found = dict(run_units(units, partial(_members, rules)))
    members = [found[unit.number] for unit in units]
    names, splits = assign_splits(members, rules, split_source, inputs.where)
    decided = [
        replace(unit, decided=partial(SplitLookup, one.keys, numbers))
        for unit, one, numbers in zip(units, members, splits, strict=True)
    ]
    return replace(rules, data_splits=names), decided


def _members(rules: Rules, unit: SourceUnit) -> tuple[int, Members]:
    return unit.number, _members_of(unit.windows(rules), rules)


def _lookup(
    members: StoredArray,
    dtype: np.dtype[np.void],
    places: tuple[StoredArray, StoredArray],
    number: int,
) -> SplitLookup:
    starts, splits = places
    edges = starts.read(_START, number, number + 2).tolist()
    return SplitLookup(Members(members.read(dtype)).keys, splits.read(_SPLIT, *edges))


def _members_of(windows: Windows, rules: Rules) -> Members:
    """Collect the members of the windows, whose splits are not decided yet.

    Raises:
        BadFeatures: a path names an invalid split, or there are too many splits.
    """
    recipe, rows = rules.recipe, windows.rows
    found = np.zeros(len(rows), dtype=member_dtype(rules))
    found["key"] = windows.keys(rules)
    names: tuple[str, ...] = ()
    first_path = ""
    order = ["key"]
    if rules.previous_seed is not None:
        found["old"] = hash_each(windows.groups, rules.previous_seed)
    if recipe.stratify:
        found["label"] = hash_each([row.label or "" for row in rows], 0)
        order.append("label")
    if recipe.split_pattern is not None:
        names = _match_paths(rows, recipe.split_pattern, found["split"])
        first_path = min((row.path for row in rows), default="")
    found = found[np.lexsort([found[name] for name in reversed(order)])]
    first = run_starts(*(found[name] for name in order))
    if recipe.stratify:
        found["records"][first] = np.diff(np.r_[first, len(found)])
    return Members(found[first], names, first_path)


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
                name = check_split_name(split, where=path, hint=_OTHER_NAMES)
                by_path[path] = names.setdefault(name, len(names))
            if len(names) > MOST_SPLITS:
                raise BadFeatures(
                    expected=f"at most {MOST_SPLITS} splits",
                    found=f"{split!r} besides {len(names) - 1} others",
                    where=path,
                    hint="The group split of --split-pattern may match too much.",
                )
        splits[at] = by_path[path]
    return tuple(names)
