"""Decide the splits before the scan if hashes are not enough: gather members, then assign."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa
from audioloom_manifest.receipts import Receipt, read_receipts

from audioloom_sharder.inputs.manifests import Inputs, Source
from audioloom_sharder.inputs.reader import read_identities
from audioloom_sharder.io.executor import RunUnits
from audioloom_sharder.rules import Rules
from audioloom_sharder.splits.assign import Members, SplitSource, assign_splits, member_dtype
from audioloom_sharder.splits.hashing import SplitLookup
from audioloom_sharder.steps.job import (
    MEMBERS,
    SPLITS,
    Job,
    StoredArray,
    publish_arrays,
    stored,
    unit_name,
)
from audioloom_sharder.windows.members import members_of
from audioloom_sharder.windows.selection import Windows, windows_of

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


def source_units(inputs: Inputs) -> list[SourceUnit]:
    """Return one unit for each features file."""
    return [SourceUnit(**vars(each), number=at) for at, each in enumerate(inputs.sources)]


def windows_of_unit(rules: Rules, unit: SourceUnit) -> Windows:
    """Read the windows of a unit's features file."""
    return windows_of(unit.table(rules), rules, unit.lookup())


def gather_source(job: Job, unit: SourceUnit) -> Receipt:
    """Gather the members of a features file: a unit of the first step."""
    members = members_of(windows_of_unit(job.rules, unit), job.rules)
    return publish_arrays(job, MEMBERS, unit.number, [members.rows], {"names": members.names})


def assign_all(job: Job, files: int, number: int) -> Receipt:
    """Decide the split of every group, over all files: the only unit of the second step."""
    dtype = member_dtype(job.rules)
    units = [unit_name(job, MEMBERS, each) for each in range(files)]
    receipts = read_receipts(job.folder_of(MEMBERS), units)
    gathered = [receipts[unit] for unit in units]
    members = [
        Members(stored(job, MEMBERS, one).read(dtype), one.counts["names"]) for one in gathered
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
    return unit.number, members_of(windows_of_unit(rules, unit), rules)


def _lookup(
    members: StoredArray,
    dtype: np.dtype[np.void],
    places: tuple[StoredArray, StoredArray],
    number: int,
) -> SplitLookup:
    starts, splits = places
    edges = starts.read(_START, number, number + 2).tolist()
    return SplitLookup(Members(members.read(dtype)).keys, splits.read(_SPLIT, *edges))
