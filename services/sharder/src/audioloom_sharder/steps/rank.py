"""Scan every features file, then rank every range of hashes; no payload moves yet.

A scan file begins with a header: where each range begins in each section, and the windows of each
split in each range. So a task that ranks a range opens each scan file once and reads its part.

A file of ranks holds the groups of its range, the start of each features file in the ranks, and the
ranks.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import NoReturn

import numpy as np
from audioloom_manifest.receipts import Receipt
from audioloom_storage import open_read
from numpy.typing import NDArray

from audioloom_sharder.errors import BadFeatures
from audioloom_sharder.inputs.rows import rows_of
from audioloom_sharder.rules import Rules
from audioloom_sharder.sharding.ranking import count_distinct, range_starts, ranks
from audioloom_sharder.steps.decide_splits import SourceUnit
from audioloom_sharder.steps.groups import merge_whole
from audioloom_sharder.steps.job import (
    RANKS,
    SCANS,
    Job,
    StoredArray,
    files_in,
    publish_arrays,
)
from audioloom_sharder.windows.metadata_scan import COUNTED, SECTIONS, SUMMARY, scan

_INT = np.dtype("<i8")


class DuplicateWindowError(Exception):
    """Two rows, its arguments, are the same window; the driver knows their files."""


def scan_source(job: Job, unit: SourceUnit) -> Receipt:
    """Scan a features file: a unit of the first step."""
    found, summary = scan(unit.table(job.rules), job.rules, unit.lookup())
    sections = [found[name] for name in SECTIONS]
    starts = [range_starts(one[(one.dtype.names or ())[0]], job.ranges) for one in sections]
    parts = np.split(found["records"]["split"], starts[0][1:-1])
    windows = [np.bincount(one, minlength=len(job.rules.splits)) for one in parts]
    header = np.concatenate([np.ravel(starts), np.ravel(windows)]).astype(_INT)
    counts = {"summary": SUMMARY.dump_python(summary, mode="json")}
    return publish_arrays(job, SCANS, unit.number, [header, *sections], counts)


def rank_range(job: Job, scans: StoredArray, number: int) -> Receipt:
    """Rank range *number* over all scanned files, and merge its groups: a unit of the second step.

    Raises:
        DuplicateWindowError: two rows are the same window of the same recording.
        TornGroupError: a group lies in two splits.
    """
    before, sections = _read_range(job, scans, number)
    found, duplicate = ranks(sections["records"], before.tolist())
    if duplicate is not None:
        raise DuplicateWindowError(*duplicate)
    groups = merge_whole(sections["groups"])
    counted = count_distinct(
        **{name: sections[name] for name in COUNTED}, splits=len(job.rules.splits)
    )
    starts = np.cumsum([0, *map(len, found)], dtype=_INT)
    arrays = [groups, starts, np.concatenate(found)]
    return publish_arrays(job, RANKS, number, arrays, {"counted": asdict(counted)})


def _read_range(
    job: Job, scans: StoredArray, number: int
) -> tuple[NDArray[np.int64], dict[str, list[NDArray[np.void]]]]:
    """Read the slices of all sections in range *number*; count the windows in lower ranges."""
    splits, edges = len(job.rules.splits), len(SECTIONS) * (job.ranges + 1)
    before = np.zeros(splits, _INT)
    found: dict[str, list[NDArray[np.void]]] = {name: [] for name in SECTIONS}
    for first, *sections in files_in(job, SCANS, scans):
        with open_read(first.location) as stream:
            header = first.read_from(stream, _INT)
            starts = header[:edges].reshape(len(SECTIONS), -1)[:, number : number + 2].tolist()
            before += header[edges:].reshape(-1, splits)[:number].sum(axis=0)
            for name, section, edge in zip(SECTIONS, sections, starts, strict=True):
                found[name].append(section.read_from(stream, SECTIONS[name], *edge))
    return before, found


def ranks_of(job: Job, ranks: StoredArray, number: int, records: StoredArray) -> NDArray[np.void]:
    """Return row, split and rank of every record of a features file, ordered by row.

    An omitted row has no record, a repeated row has several.

    Args:
        job: of the run.
        ranks: the table of ranks.
        number: of the features file.
        records: the section of its scan file.
    """
    scanned, parts = records.read(SECTIONS["records"]), []
    for _, starts, values in files_in(job, RANKS, ranks):
        with open_read(starts.location) as stream:
            edges = starts.read_from(stream, _INT, number, number + 2).tolist()
            parts.append(values.read_from(stream, _INT, *edges))
    found = np.empty(len(scanned), dtype=[("row", "<u4"), ("split", "u1"), ("rank", "<i8")])
    found["row"], found["split"] = scanned["row"], scanned["split"]
    found["rank"] = np.concatenate(parts)
    return found[np.lexsort((found["rank"], found["row"]))]


def raise_duplicate(
    error: DuplicateWindowError, units: Sequence[SourceUnit], rules: Rules
) -> NoReturn:
    """Read the window that is there twice, and raise BadFeatures with its name."""
    (number, row), (other, _) = error.args
    one = next(rows_of(units[number].table(rules).slice(row, 1)))
    files = sorted({str(units[number].location), str(units[other].location)})
    raise BadFeatures(
        expected="every window once",
        found=f"window {one.window} of channel {one.channel} of {one.path} twice",
        where=" and ".join(files),
        hint="Give features runs that do not overlap, or scan the recordings once.",
    ) from error
