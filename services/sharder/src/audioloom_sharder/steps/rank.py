"""Scan every features file, then rank every range of hashes; no payload moves yet."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import NoReturn

import numpy as np
from audioloom_manifest import Receipt
from numpy.typing import NDArray

from audioloom_sharder.errors import DuplicateRecord
from audioloom_sharder.inputs.reader import read_identities
from audioloom_sharder.inputs.window import rows_of
from audioloom_sharder.sharding.ranking import (
    DistinctCounts,
    Duplicate,
    count_distinct,
    range_starts,
    ranks,
    ranks_before,
)
from audioloom_sharder.steps.decide_splits import lookup_of
from audioloom_sharder.steps.job import (
    RANKS,
    SCANS,
    Job,
    publish_unit,
    read_array,
    unit_name,
    write_intermediate,
)
from audioloom_sharder.windows.metadata_scan import COUNTED, SECTIONS, scan
from audioloom_sharder.windows.selection import Windows, windows_of
from audioloom_sharder.windows.summary import Summary

_RANK = np.dtype("<i8")


@dataclass(frozen=True)
class ScannedFile:
    """A scanned file: the place of each section, and of each range within it."""

    path: str
    summary: Summary
    starts: dict[str, tuple[int, ...]]
    """Section: the item at which each range begins, and their number."""
    by_range: tuple[tuple[int, ...], ...]
    """Range by range, windows of each split."""

    @classmethod
    def of(cls, receipt: Receipt) -> "ScannedFile":
        """Read a receipt of `scan_source`."""
        counts = receipt.counts
        return cls(
            path=receipt.files[0].path,
            summary=Summary.from_json(counts["summary"]),
            starts={name: tuple(starts) for name, starts in counts["starts"].items()},
            by_range=tuple(tuple(row) for row in counts["by_range"]),
        )

    def read(self, job: Job, section: str, number: int | None = None) -> NDArray[np.void]:
        """Read the slice of a section in range *number*; without *number* the whole section."""
        begin, end = 0, self.starts[section][-1]
        if number is not None:
            begin, end = self.starts[section][number : number + 2]
        offset = 0
        for name, dtype in SECTIONS.items():
            if name == section:
                break
            offset += self.starts[name][-1] * dtype.itemsize
        dtype = SECTIONS[section]
        at = offset + begin * dtype.itemsize
        return read_array(job.work / self.path, dtype, at, end - begin)


@dataclass(frozen=True)
class RankedRange:
    """A ranked range: the place of the ranks of each file."""

    path: str
    counted: DistinctCounts
    starts: tuple[int, ...]
    """The item at which the ranks of each file begin."""

    @classmethod
    def of(cls, receipt: Receipt) -> "RankedRange":
        """Read a receipt of `rank_range`."""
        counts = receipt.counts
        return cls(
            receipt.files[0].path, DistinctCounts(**counts["counted"]), tuple(counts["starts"])
        )


def windows_of_source(job: Job, number: int) -> Windows:
    """Read the windows of features file *number*."""
    table = read_identities(job.sources[number], job.rules.schema.feature)
    return windows_of(table, job.rules, lookup_of(job, number))


def scan_source(job: Job, number: int) -> Receipt:
    """Scan features file *number*: a unit of the first step."""
    unit = unit_name(job, SCANS, number)
    table = read_identities(job.sources[number], job.rules.schema.feature)
    found = scan(table, job.rules, lookup_of(job, number))
    starts = {name: range_starts(found.sections[name], job.ranges) for name in SECTIONS}
    records = found.sections["records"]["split"]
    edges = zip(starts["records"], starts["records"][1:], strict=False)
    by_range = [
        np.bincount(records[begin:end], minlength=len(job.rules.policy.splits)).tolist()
        for begin, end in edges
    ]
    entry = write_intermediate(job, unit, (found.sections[name].tobytes() for name in SECTIONS))
    counts = {"summary": found.summary.to_json(), "starts": starts, "by_range": by_range}
    return publish_unit(job, unit, entry, counts)


def rank_range(job: Job, scanned: Sequence[ScannedFile], number: int) -> Receipt:
    """Rank range *number* over all scanned files: a unit of the second step.

    Raises:
        DuplicateRecord: two rows are the same window of the same recording.
    """
    unit = unit_name(job, RANKS, number)
    counts = [_total(scanned, each, len(job.rules.policy.splits)) for each in range(job.ranges)]
    before = list(ranks_before(counts))[number]
    parts = [one.read(job, "records", number) for one in scanned]
    found, duplicate = ranks(parts, before)
    if duplicate is not None:
        _raise_duplicate(job, duplicate)
    entry = write_intermediate(job, unit, (part.astype(_RANK).tobytes() for part in found))
    groups, recordings, contents = (
        [one.read(job, name, number) for one in scanned] for name in COUNTED
    )
    counted = count_distinct(groups, recordings, contents, splits=len(job.rules.policy.splits))
    starts = np.cumsum([0, *map(len, parts)]).tolist()
    return publish_unit(job, unit, entry, {"counted": asdict(counted), "starts": starts})


def ranks_of(
    job: Job, scanned: ScannedFile, ranked: Sequence[RankedRange], number: int
) -> NDArray[np.void]:
    """Return row, split and rank of every record of features file *number*, ordered by row.

    An omitted row has no record, a repeated row has several.
    """
    records = scanned.read(job, "records")
    pieces = [
        read_array(
            job.work / one.path,
            _RANK,
            one.starts[number] * _RANK.itemsize,
            one.starts[number + 1] - one.starts[number],
        )
        for one in ranked
    ]
    found = np.empty(len(records), dtype=[("row", "<u4"), ("split", "u1"), ("rank", "<i8")])
    found["row"], found["split"] = records["row"], records["split"]
    found["rank"] = np.concatenate(pieces)
    return found[np.lexsort((found["rank"], found["row"]))]


def _total(scanned: Sequence[ScannedFile], number: int, splits: int) -> list[int]:
    return [sum(one.by_range[number][split] for one in scanned) for split in range(splits)]


def _raise_duplicate(job: Job, duplicate: Duplicate) -> NoReturn:
    source, row = duplicate.first
    other, _ = duplicate.second
    table = read_identities(job.sources[source], job.rules.schema.feature)
    one = next(rows_of(table.slice(row, 1)))
    files = sorted({str(job.sources[source].location), str(job.sources[other].location)})
    raise DuplicateRecord(
        expected="every window once",
        found=f"window {one.window} of channel {one.channel} of {one.path} twice",
        where=" and ".join(files),
        hint="Give features runs that do not overlap, or scan the recordings once.",
    )
