"""Scan every features file, then rank every range of hashes; no payload moves yet."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import NoReturn

import numpy as np
from audioloom_manifest.receipts import Receipt
from numpy.typing import NDArray

from audioloom_sharder.errors import BadFeatures
from audioloom_sharder.inputs.window import rows_of
from audioloom_sharder.sharding.ranking import Duplicate, count_distinct, range_starts, ranks
from audioloom_sharder.steps.decide_splits import SourceUnit
from audioloom_sharder.steps.job import RANKS, SCANS, Job, publish_arrays, stored
from audioloom_sharder.windows.metadata_scan import COUNTED, SECTIONS, SUMMARY, scan

_RANK = np.dtype("<i8")


def scan_source(job: Job, unit: SourceUnit) -> Receipt:
    """Scan a features file: a unit of the first step."""
    found, summary = scan(unit.table(job.rules), job.rules, unit.lookup())
    sections = [found[name] for name in SECTIONS]
    starts = [range_starts(one[(one.dtype.names or ())[0]], job.ranges) for one in sections]
    splits = np.split(found["records"]["split"], starts[0][1:-1])
    counts = {
        "summary": SUMMARY.dump_python(summary, mode="json"),
        # For each section, the item at which each range begins, and the number of items.
        "starts": starts,
        # Windows of each split, range by range.
        "by_range": [np.bincount(one, minlength=len(job.rules.splits)).tolist() for one in splits],
    }
    return publish_arrays(job, SCANS, unit.number, sections, counts)


def read_range(
    job: Job, scanned: Sequence[Receipt], section: str, number: int
) -> list[NDArray[np.void]]:
    """Read the slices of a section in range *number* from all scanned files."""
    at = [*SECTIONS].index(section)
    return [
        stored(job, one, at).read(SECTIONS[section], *one.counts["starts"][at][number : number + 2])
        for one in scanned
    ]


def rank_range(
    job: Job, units: Sequence[SourceUnit], scanned: Sequence[Receipt], number: int
) -> Receipt:
    """Rank range *number* over all scanned files: a unit of the second step.

    Raises:
        BadFeatures: two rows are the same window of the same recording.
    """
    before = sum(np.array(one.counts["by_range"])[:number].sum(axis=0) for one in scanned)
    found, duplicate = ranks(read_range(job, scanned, "records", number), before)
    if duplicate is not None:
        _raise_duplicate(job, units, duplicate)
    sections = {name: read_range(job, scanned, name, number) for name in COUNTED}
    counted = count_distinct(**sections, splits=len(job.rules.splits))
    return publish_arrays(job, RANKS, number, found, {"counted": asdict(counted)})


def ranks_of(
    job: Job, scanned: Receipt, ranked: Sequence[Receipt], number: int
) -> NDArray[np.void]:
    """Return row, split and rank of every record of features file *number*, ordered by row.

    An omitted row has no record, a repeated row has several.
    """
    records = stored(job, scanned).read(SECTIONS["records"])
    found = np.empty(len(records), dtype=[("row", "<u4"), ("split", "u1"), ("rank", "<i8")])
    found["row"], found["split"] = records["row"], records["split"]
    found["rank"] = np.concatenate([stored(job, one, number).read(_RANK) for one in ranked])
    return found[np.lexsort((found["rank"], found["row"]))]


def _raise_duplicate(job: Job, units: Sequence[SourceUnit], duplicate: Duplicate) -> NoReturn:
    (number, row), (other, _) = duplicate
    one = next(rows_of(units[number].table(job.rules).slice(row, 1)))
    files = sorted({str(units[number].location), str(units[other].location)})
    raise BadFeatures(
        expected="every window once",
        found=f"window {one.window} of channel {one.channel} of {one.path} twice",
        where=" and ".join(files),
        hint="Give features runs that do not overlap, or scan the recordings once.",
    )
