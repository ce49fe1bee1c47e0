"""Write the splits file, and refuse groups that lie in two splits."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NoReturn

import numpy as np
from audioloom_manifest import FileEntry, Receipt, publish_receipt
from audioloom_storage import AlreadyExists, create
from numpy.typing import NDArray

from audioloom_sharder.errors import TornGroup
from audioloom_sharder.formats.names import groups_path
from audioloom_sharder.inputs.manifests import Source
from audioloom_sharder.inputs.reader import read_identities
from audioloom_sharder.inputs.window import recording_name, rows_of
from audioloom_sharder.splits.groups_file import header, merge_groups
from audioloom_sharder.splits.lookup import SplitLookup, hash_each, splits_of_rows
from audioloom_sharder.splits.policy import group_of
from audioloom_sharder.splits.previous_run import SPLITS_ROLE
from audioloom_sharder.steps.decide_splits import lookup_of
from audioloom_sharder.steps.job import GROUPS, Job, unit_name
from audioloom_sharder.steps.rank import RankedRange, ScannedFile
from audioloom_sharder.windows.rules import Rules


def publish_groups(
    job: Job, scanned: Sequence[ScannedFile], ranked: Sequence[RankedRange], number: int
) -> Receipt:
    """Write the splits file: a unit that holds one range of hashes at a time.

    Raises:
        TornGroup: a group lies in two splits.
    """
    sha256 = hashlib.sha256()
    size = 0
    for chunk in _chunks(job, scanned, ranked):
        sha256.update(chunk)
        size += len(chunk)
    path = groups_path(sha256.hexdigest())
    with suppress(AlreadyExists), create(job.folder / path) as stream:  # the same content
        stream.writelines(_chunks(job, scanned, ranked))
    entry = FileEntry(
        path=path, bytes=size, sha256=sha256.hexdigest(), role=SPLITS_ROLE, records=_groups(ranked)
    )
    unit = unit_name(job, GROUPS, number)
    return publish_receipt(job.folder, Receipt(unit=unit, attempt=job.attempt, files=(entry,)))


def _groups(ranked: Sequence[RankedRange]) -> int:
    return sum(sum(one.counted.groups) for one in ranked)


def _chunks(
    job: Job, scanned: Sequence[ScannedFile], ranked: Sequence[RankedRange]
) -> Iterator[bytes]:
    yield header(_groups(ranked))
    for number in range(job.ranges):
        parts = [one.read(job, "groups", number) for one in scanned]
        groups = merge_groups(parts)
        check_whole(groups, parts, job.sources, job.rules, lambda source: lookup_of(job, source))
        yield groups.tobytes()


def check_whole(
    groups: NDArray[np.void],
    parts: Iterable[NDArray[np.void]],
    sources: Sequence[Source],
    rules: Rules,
    lookup: Callable[[int], SplitLookup | None],
) -> None:
    """Refuse a group in two splits.

    Args:
        groups: `splits_file.merge_groups` of *parts*.
        parts: for each source, items with `high`.
        sources: the features files.
        rules: the rules of the run.
        lookup: the decided splits of a source.

    Raises:
        TornGroup: names the first torn group and a recording in each split.
    """
    twice = np.flatnonzero(groups["group"][1:] == groups["group"][:-1])
    if not len(twice):
        return
    torn = groups["group"][twice[0]]
    holding = [number for number, part in enumerate(parts) if (part["high"] == torn).any()]
    _raise_torn(torn, len(np.unique(groups["group"][twice])), holding, sources, rules, lookup)


def _raise_torn(
    torn: np.uint64,
    count: int,
    holding: Sequence[int],
    sources: Sequence[Source],
    rules: Rules,
    lookup: Callable[[int], SplitLookup | None],
) -> NoReturn:
    """Raise TornGroup; read the files again for the group's name and a recording in each split."""
    name = ""
    examples: dict[str, str] = {}
    for number in holding:
        rows = list(rows_of(read_identities(sources[number], rules.schema.feature)))
        names = [group_of(row, rules.policy) for row in rows]
        hashes = hash_each(names, rules.policy.seed)
        splits = splits_of_rows(rows, names, hashes, rules.policy, lookup(number)).tolist()
        for at in np.flatnonzero(hashes == torn).tolist():
            if splits[at] < len(rules.policy.splits):  # rows that filters leave out have no split
                name = names[at]
                path, split = recording_name(rows[at]), rules.policy.splits[splits[at]]
                examples[split] = min(path, examples.get(split, path))
    more = f" (and {count - 1:,} other groups)" if count > 1 else ""
    raise TornGroup(
        expected="every group in one split",
        found=f"{name!r:.100} in "
        + " and ".join(f"{split} ({path})" for split, path in sorted(examples.items()))
        + more,
        where=", ".join(sorted({str(sources[number].folder) for number in holding})),
        hint="A model would be tested on what it was trained on: correct the pattern or the table,"
        " or the groups.",
    )
