"""Decide the splits before the scan if hashes are not enough: gather members, then assign."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import starmap
from typing import NamedTuple

import numpy as np
from audioloom_manifest import Receipt
from audioloom_storage import Location

from audioloom_sharder.inputs.manifests import Inputs, Source
from audioloom_sharder.inputs.reader import read_identities
from audioloom_sharder.io.executor import RunUnits
from audioloom_sharder.splits.assign import assign_splits
from audioloom_sharder.splits.lookup import SplitLookup
from audioloom_sharder.splits.members import Members, member_dtype, members_of
from audioloom_sharder.splits.sources import SplitSources
from audioloom_sharder.steps.job import (
    MEMBERS,
    SPLITS,
    Job,
    SplitFiles,
    publish_unit,
    read_array,
    unit_name,
    write_intermediate,
)
from audioloom_sharder.windows.rules import Rules

_SPLIT = np.dtype("u1")


def gather_source(job: Job, number: int) -> Receipt:
    """Gather the members of features file *number*: a unit of the first step."""
    unit = unit_name(job, MEMBERS, number)
    members = _members(job.rules, job.sources[number])
    entry = write_intermediate(job, unit, [members.rows.tobytes()])
    return publish_unit(job, unit, entry, {"rows": len(members.rows), "names": members.names})


def assign_all(job: Job, gathered: Sequence[Receipt], number: int) -> Receipt:
    """Decide the split of every group, over all files: the only unit of the second step."""
    unit = unit_name(job, SPLITS, number)
    members = [_read(job, receipt) for receipt in gathered]
    found = assign_splits(members, job.rules.policy, job.split_sources, job.where)
    entry = write_intermediate(
        job, unit, (splits.astype(_SPLIT).tobytes() for splits in found.splits)
    )
    starts = np.cumsum([0, *map(len, found.splits)]).tolist()
    return publish_unit(job, unit, entry, {"names": found.names, "starts": starts})


def with_splits(job: Job, gathered: Sequence[Receipt], receipt: Receipt) -> Job:
    """Return the job with its decided splits, from the receipts of both steps."""
    split_files = SplitFiles(
        path=receipt.files[0].path,
        starts=tuple(receipt.counts["starts"]),
        members=tuple((one.files[0].path, one.counts["rows"]) for one in gathered),
    )
    rules = job.rules.with_splits(tuple(receipt.counts["names"]))
    return replace(job, rules=rules, split_files=split_files)


def lookup_of(job: Job, number: int) -> SplitLookup | None:
    """Return the decided splits of features file *number*; None if the hash alone decides."""
    split_files = job.split_files
    if split_files is None:
        return None
    path, rows = split_files.members[number]
    members = Members(read_array(job.work / path, member_dtype(job.rules.policy), 0, rows))
    begin, end = split_files.starts[number : number + 2]
    return SplitLookup(
        members.keys, read_array(job.work / split_files.path, _SPLIT, begin, end - begin)
    )


class SourceUnit(NamedTuple):
    """A features file as a unit of work without a run folder: its number and decided splits."""

    number: int
    source: Source
    lookup: SplitLookup | None = None


def decide_in_memory(
    inputs: Inputs, rules: Rules, split_sources: SplitSources, run_units: RunUnits
) -> tuple[Rules, list[SourceUnit]]:
    """Decide the splits without a run folder; return the rules and one unit for each file.

    The caller holds 9 bytes per group of each file, and about 100 while splits are decided.
    """
    units = list(starmap(SourceUnit, enumerate(inputs.sources)))
    if not rules.policy.needs_lookup:
        return rules, units
    found = dict(run_units(units, partial(_numbered, rules), location_of))
    members = [found[number] for number in range(len(units))]
    decision = assign_splits(members, rules.policy, split_sources, inputs.where)
    pairs = zip(units, members, decision.splits, strict=True)
    decided = [unit._replace(lookup=SplitLookup(one.keys, splits)) for unit, one, splits in pairs]
    return rules.with_splits(decision.names), decided


def location_of(unit: SourceUnit) -> Location:
    """Return the location of a unit's features file."""
    return unit.source.location


def _numbered(rules: Rules, unit: SourceUnit) -> tuple[int, Members]:
    return unit.number, _members(rules, unit.source)


def _members(rules: Rules, source: Source) -> Members:
    return members_of(read_identities(source, rules.schema.feature), rules.policy, rules.filters)


def _read(job: Job, receipt: Receipt) -> Members:
    counts = receipt.counts
    where = job.work / receipt.files[0].path
    rows = read_array(where, member_dtype(job.rules.policy), 0, counts["rows"])
    return Members(rows, tuple(counts["names"]))
