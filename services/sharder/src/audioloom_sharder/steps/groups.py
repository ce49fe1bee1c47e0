"""Write the splits file, and refuse groups that lie in two splits."""

import hashlib
from collections.abc import Iterator, Sequence
from typing import NoReturn

import numpy as np
from audioloom_manifest.envelope import FileEntry
from audioloom_manifest.receipts import Receipt, publish_receipt
from numpy.typing import NDArray

from audioloom_sharder.errors import BadFeatures
from audioloom_sharder.formats.names import groups_path
from audioloom_sharder.rules import Rules
from audioloom_sharder.splits.groups_file import header, merge_groups
from audioloom_sharder.splits.previous_run import SPLITS_ROLE
from audioloom_sharder.steps.decide_splits import SourceUnit, windows_of_unit
from audioloom_sharder.steps.job import GROUPS, Job, unit_name, write_named
from audioloom_sharder.steps.rank import read_range


def publish_groups(
    job: Job, units: Sequence[SourceUnit], scanned: Sequence[Receipt], groups: int, number: int
) -> Receipt:
    """Write the splits file of this many groups: a unit that holds one range of hashes at a time.

    Raises:
        BadFeatures: a group lies in two splits.
    """

    def chunks() -> Iterator[bytes]:
        yield header(groups)
        for each in range(job.ranges):
            parts = read_range(job, scanned, "groups", each)
            yield merge_whole(parts, units, job.rules).tobytes()

    sha256 = hashlib.sha256()
    size = 0
    for chunk in chunks():
        sha256.update(chunk)
        size += len(chunk)
    path = groups_path(sha256.hexdigest())
    write_named(job.folder / path, chunks(), size)
    entry = FileEntry(
        path=path, bytes=size, sha256=sha256.hexdigest(), role=SPLITS_ROLE, records=groups
    )
    unit = unit_name(job, GROUPS, number)
    return publish_receipt(job.folder, Receipt(unit=unit, attempt=job.attempt, files=(entry,)))


def merge_whole(
    parts: Sequence[NDArray[np.void]], units: Sequence[SourceUnit], rules: Rules
) -> NDArray[np.void]:
    """Merge the groups (`GROUP`) of each unit, and refuse a group in two splits.

    Raises:
        BadFeatures: names the first torn group and a recording in each split.
    """
    groups = merge_groups(parts)
    twice = groups["group"][1:][groups["group"][1:] == groups["group"][:-1]]
    if len(twice):
        holding = [
            unit
            for unit, part in zip(units, parts, strict=True)
            if (part["group"] == twice[0]).any()
        ]
        _raise_torn(twice[0], len(np.unique(twice)), holding, rules)
    return groups


def _raise_torn(
    torn: np.uint64, count: int, holding: Sequence[SourceUnit], rules: Rules
) -> NoReturn:
    """Raise BadFeatures; read the files again for the group and a recording in each split."""
    name = ""
    examples: dict[str, str] = {}
    for unit in holding:
        windows = windows_of_unit(rules, unit)
        for at in np.flatnonzero(windows.group_hash == torn).tolist():
            name, path = windows.groups[at], windows.rows[at].path
            split = rules.splits[windows.split[at]]
            examples[split] = min(path, examples.get(split, path))
    more = f" (and {count - 1:,} other groups)" if count > 1 else ""
    raise BadFeatures(
        expected="every group in one split",
        found=f"{name!r:.100} in "
        + " and ".join(f"{split} ({path})" for split, path in sorted(examples.items()))
        + more,
        where=", ".join(sorted({str(unit.source.folder) for unit in holding})),
        hint="A model would be tested on what it was trained on: correct the pattern or the table,"
        " or the groups.",
    )
