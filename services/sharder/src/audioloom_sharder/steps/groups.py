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
from audioloom_sharder.splits.groups_file import GROUP, header, merge_groups
from audioloom_sharder.splits.previous_run import SPLITS_ROLE
from audioloom_sharder.steps.decide_splits import SourceUnit, windows_of_unit
from audioloom_sharder.steps.job import (
    GROUPS,
    RANKS,
    Job,
    StoredArray,
    files_in,
    unit_name,
    write_named,
)


class TornGroupError(Exception):
    """A group lies in two splits; the driver knows its name (`raise_torn`).

    Its arguments are the hash of the first such group, the number of such groups, and the numbers
    of the features files that hold the first.
    """


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


def raise_torn(error: TornGroupError, units: Sequence[SourceUnit], rules: Rules) -> NoReturn:
    """Read the files again for the group and a recording in each split, and raise BadFeatures."""
    torn, count, numbers = error.args
    holding = [units[number] for number in numbers]
    name = ""
    examples: dict[str, str] = {}
    for unit in holding:
        windows = windows_of_unit(rules, unit)
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
