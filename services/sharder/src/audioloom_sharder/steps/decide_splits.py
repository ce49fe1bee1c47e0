"""The steps before the scan, where more than a hash decides the splits: gather, then settle."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from audioloom_manifest import Receipt
from audioloom_storage import Location

from audioloom_sharder.inputs.manifests import Source
from audioloom_sharder.inputs.reader import read_identities
from audioloom_sharder.io.executor import RunUnits
from audioloom_sharder.splits.assign import settle
from audioloom_sharder.splits.lookup import Placed
from audioloom_sharder.splits.members import Members, layout_of, members_of
from audioloom_sharder.splits.previous_run import Given
from audioloom_sharder.steps.job import Job, Placement, finish, read_array, unit_name, write_work
from audioloom_sharder.windows.rules import Rules

_SPLIT = np.dtype("u1")


def gather_source(job: Job, number: int) -> Receipt:
    """The unit of the first step: what features file *number* says of its groups."""
    unit = unit_name(job, "members", number)
    members = _members(job.rules, job.sources[number])
    entry = write_work(job, unit, [members.rows.tobytes()])
    return finish(job, unit, entry, {"rows": len(members.rows), "names": members.names})


def settle_all(job: Job, gathered: Sequence[Receipt], number: int) -> Receipt:
    """The one unit of the second step: decide the split of every group, over all files."""
    unit = unit_name(job, "places", number)
    members = [_read(job, receipt) for receipt in gathered]
    found = settle(members, job.rules.policy, job.given, job.where)
    entry = write_work(job, unit, (splits.astype(_SPLIT).tobytes() for splits in found.splits))
    starts = np.cumsum([0, *map(len, found.splits)]).tolist()
    return finish(job, unit, entry, {"names": found.names, "starts": starts})


def settled(job: Job, gathered: Sequence[Receipt], receipt: Receipt) -> Job:
    """The job for the steps after, from the receipts of these."""
    placement = Placement(
        path=receipt.files[0].path,
        starts=tuple(receipt.counts["starts"]),
        members=tuple((one.files[0].path, one.counts["rows"]) for one in gathered),
    )
    rules = _named(job.rules, tuple(receipt.counts["names"]))
    return replace(job, rules=rules, placement=placement)


def placed_of(job: Job, number: int) -> Placed | None:
    """What was decided for features file *number*; None where the hash alone decides."""
    placement = job.placement
    if placement is None:
        return None
    path, rows = placement.members[number]
    members = Members(read_array(job.work / path, layout_of(job.rules.policy), 0, rows))
    begin, end = placement.starts[number : number + 2]
    return Placed(members.keys, read_array(job.work / placement.path, _SPLIT, begin, end - begin))


def place_in_memory(
    sources: Sequence[Source], rules: Rules, given: Given, where: str, run_units: RunUnits
) -> tuple[Rules, list[Placed | None]]:
    """The same without a run folder: the rules with all names, and what was decided file by file.

    The caller holds 9 bytes a group of each file, and some 100 while it is decided.
    """
    if not rules.policy.looked_up:
        return rules, [None] * len(sources)
    found: dict[int, Members] = {}
    answers: Iterable[tuple[int, Members]] = run_units(
        list(enumerate(sources)), partial(_numbered, rules), _location
    )
    found.update(answers)
    members = [found[number] for number in range(len(sources))]
    answer = settle(members, rules.policy, given, where)
    placed: list[Placed | None] = [
        Placed(one.keys, splits) for one, splits in zip(members, answer.splits, strict=True)
    ]
    return _named(rules, answer.names), placed


def _numbered(rules: Rules, unit: tuple[int, Source]) -> tuple[int, Members]:
    number, source = unit
    return number, _members(rules, source)


def _location(unit: tuple[int, Source]) -> Location:
    return unit[1].location


def _members(rules: Rules, source: Source) -> Members:
    return members_of(read_identities(source, rules.schema.feature), rules.policy, rules.filters)


def _read(job: Job, receipt: Receipt) -> Members:
    counts = receipt.counts
    where = job.work / receipt.files[0].path
    rows = read_array(where, layout_of(job.rules.policy), 0, counts["rows"])
    return Members(rows, tuple(counts["names"]))


def _named(rules: Rules, names: tuple[str, ...]) -> Rules:
    return replace(rules, policy=replace(rules.policy, named=names))
