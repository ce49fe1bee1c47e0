"""Scan every features file, rank every range of hashes, and list the groups; no payload moves yet.

A scan file begins with a header: where each range begins in each section, and the windows of each
split in each range. So a task that ranks a range opens each scan file once and reads its part.

A file of ranks holds the groups of its range, the start of each features file in the ranks, and the
ranks.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import NoReturn

import numpy as np
from audioloom_manifest.envelope import FileEntry
from audioloom_manifest.receipts import Receipt, publish_receipt
from audioloom_storage import open_read
from numpy.typing import NDArray

from audioloom_sharder.errors import BadFeatures
from audioloom_sharder.formats.names import groups_path
from audioloom_sharder.inputs.rows import rows_of
from audioloom_sharder.rules import Rules
from audioloom_sharder.sharding.ranking import count_distinct, range_starts, ranks
from audioloom_sharder.splits.groups_file import GROUP, SPLITS_ROLE, header, merge_groups
from audioloom_sharder.steps.decide_splits import SourceUnit
from audioloom_sharder.steps.job import (
    GROUPS,
    RANKS,
    SCANS,
    Job,
    StoredArray,
    files_in,
    publish_arrays,
    unit_name,
    write_named,
)
from audioloom_sharder.windows.metadata_scan import COUNTED, SECTIONS, SUMMARY, scan

_INT = np.dtype("<i8")


class DuplicateWindowError(Exception):
    """Two rows, its arguments, are the same window; the driver knows their files."""


class TornGroupError(Exception):
    """A group lies in two splits; the driver knows its name (`raise_torn`).

    Its arguments are the hash of the first such group, the number of such groups, and the numbers
    of the features files that hold the first.
    """


def scan_source(job: Job, unit: SourceUnit) -> Receipt:
    """Scan a features file: a unit of the first step."""
    found, summary = scan(unit.windows(job.rules), job.rules)
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


def merge_whole(parts: Sequence[NDArray[np.void]]) -> NDArray[np.void]:
    """Merge the groups (`GROUP`) of each unit, and refuse a group in two splits.

    Raises:
        TornGroupError: a group lies in two splits.
    """
    groups = merge_groups(parts)
    twice = groups["group"][1:][groups["group"][1:] == groups["group"][:-1]]
    if len(twice):
        holding = [at for at, part in enumerate(parts) if (part["group"] == twice[0]).any()]
        raise TornGroupError(int(twice[0]), len(np.unique(twice)), holding)
    return groups


def _read_range(
    job: Job, scans: StoredArray, number: int
) -> tuple[NDArray[np.int64], dict[str, list[NDArray[np.void]]]]:
    """Read the slices of all sections in range *number*; count the windows in lower ranges."""
    splits, edges = len(job.rules.splits), len(SECTIONS) * (job.ranges + 1)
    before = np.zeros(splits, _INT)
    found: dict[str, list[NDArray[np.void]]] = {name: [] for name in SECTIONS}
    for first, *sections in files_in(job, SCANS, scans):
        with open_read(first.location) as stream:
            header = first.read(_INT, stream=stream)
            starts = header[:edges].reshape(len(SECTIONS), -1)[:, number : number + 2].tolist()
            before += header[edges:].reshape(-1, splits)[:number].sum(axis=0)
            for name, section, (begin, end) in zip(SECTIONS, sections, starts, strict=True):
                found[name].append(section.read(SECTIONS[name], begin, end, stream))
    return before, found


def publish_groups(job: Job, ranks: StoredArray, groups: int, number: int) -> Receipt:
    """Write the splits file of this many groups: a unit that holds one range of hashes at a time.

    *ranks* is the table of the files of ranks, which hold the groups of each range.
    """

    def chunks() -> Iterator[bytes]:
        yield header(groups)
        for merged, *_ in files_in(job, RANKS, ranks):
            yield merged.read(GROUP).tobytes()

    sha256 = hashlib.sha256()
    size = 0
    for chunk in chunks():
        sha256.update(chunk)
        size += len(chunk)
    path = groups_path(sha256.hexdigest())
    write_named(job.folder / path, chunks(), size)()
    entry = FileEntry(
        path=path, bytes=size, sha256=sha256.hexdigest(), role=SPLITS_ROLE, records=groups
    )
    unit = unit_name(job, GROUPS, number)
    return publish_receipt(job.folder, Receipt(unit=unit, attempt=job.attempt, files=(entry,)))


def ranks_of(job: Job, ranks: StoredArray, number: int, records: StoredArray) -> NDArray[np.void]:
    """Return row, split and rank of every record of features file *number*, ordered by row.

    An omitted row has no record, a repeated row has several. *ranks* is the table of the files of
    ranks, and *records* the section of the features file's scan file.
    """
    scanned, parts = records.read(SECTIONS["records"]), []
    for _, starts, values in files_in(job, RANKS, ranks):
        with open_read(starts.location) as stream:
            begin, end = starts.read(_INT, number, number + 2, stream).tolist()
            parts.append(values.read(_INT, begin, end, stream))
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


def raise_torn(error: TornGroupError, units: Sequence[SourceUnit], rules: Rules) -> NoReturn:
    """Read the files again for the group and a recording in each split, and raise BadFeatures."""
    torn, count, numbers = error.args
    holding = [units[number] for number in numbers]
    name = ""
    examples: dict[str, str] = {}
    for unit in holding:
        windows = unit.windows(rules)
        for at in np.flatnonzero(windows.group_hash == np.uint64(torn)).tolist():
            name, path = windows.groups[at], windows.rows[at].path
            split = rules.splits[windows.split[at]]
            examples[split] = min(path, examples.get(split, path))
    more = f" (and {count - 1:,} other groups)" if count > 1 else ""
    raise BadFeatures(
        expected="every group in one split",
        found=f"{name!r:.100} in "
        + " and ".join(f"{split} ({path})" for split, path in sorted(examples.items()))
        + more,
        where=", ".join(sorted({str(unit.folder) for unit in holding})),
        hint="A model would be tested on what it was trained on: correct the pattern or the table,"
        " or the groups.",
    ) from error
