"""What `verify` asks of the splits: of the records, of the splits file, of what decided them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from audioloom_manifest import FileEntry, ManifestError, Opened, ShardsManifest
from audioloom_stage import BadData
from audioloom_storage import Location, StorageError
from numpy.typing import NDArray

from audioloom_sharder.formats.example import Record
from audioloom_sharder.inputs.manifests import Source
from audioloom_sharder.inputs.reader import read_identities
from audioloom_sharder.splits.groups_file import merged, numbers_of
from audioloom_sharder.splits.hashing import group_hashes, split_of
from audioloom_sharder.splits.lookup import NO_SPLIT, Placed
from audioloom_sharder.splits.previous_run import SPLITS_ROLE, read_groups, splits_entry
from audioloom_sharder.splits.ratios import compile_pattern, said_by
from audioloom_sharder.windows.metadata_scan import scan
from audioloom_sharder.windows.rules import Rules


@dataclass(frozen=True)
class Groups:
    """The splits file of a run, as tasks find it; and groups that lie elsewhere than decided."""

    folder: Location
    entry: FileEntry | None = None
    wrong: dict[int, str] = field(default_factory=dict)
    """Group hash: the split that was decided."""


@lru_cache(maxsize=1)
def _table(folder: Location, entry: FileEntry, splits: int) -> NDArray[np.void]:
    """All groups of a run: 17 bytes each, read once by a process."""
    return read_groups(folder, entry, splits)


def wrong_splits(
    split: str, records: Sequence[Record], rules: Rules, groups: Groups
) -> Iterator[str]:
    """What is wrong with records that lie in *split*."""
    hashes = group_hashes((record.group for record in records), seed=rules.policy.seed)
    several = len(rules.policy.splits) > 1
    by_hash = not rules.policy.looked_up
    hashed = split_of(hashes, rules.policy.shares).tolist() if by_hash else [0] * len(records)
    numbers = hashed
    if groups.entry is not None:
        table = _table(groups.folder, groups.entry, len(rules.policy.splits))
        numbers = numbers_of(table, hashes, NO_SPLIT).tolist()
    pattern = rules.policy.split_pattern and compile_pattern(rules.policy.split_pattern)
    for at, (record, value) in enumerate(zip(records, hashes.tolist(), strict=True)):
        group = f"record {at}: the group {record.group!r:.100}"
        if not record.group:
            if several:
                yield f"{group} is no group"
            continue
        if by_hash and rules.policy.splits[hashed[at]] != split:
            yield f"{group} belongs to split {rules.policy.splits[hashed[at]]}"
        elif value in groups.wrong:
            yield f"{group} belongs to split {groups.wrong[value]}"
        elif numbers[at] == NO_SPLIT:
            yield f"{group} is not in the splits file"
        elif rules.policy.splits[numbers[at]] != split:
            yield f"{group} lies in split {rules.policy.splits[numbers[at]]} by the splits file"
        elif pattern and said_by(pattern, record.path) != split:
            yield (
                f"record {at}: the path {record.path!r:.200} belongs to split"
                f" {said_by(pattern, record.path)}"
            )


def open_groups(
    opened: Opened[ShardsManifest], rules: Rules
) -> tuple[Groups, NDArray[np.void] | None, list[str]]:
    """The splits file, all of them read, and what the manifest claims of them that is not so.

    A run that an older release split by hash has none, and needs none.
    """
    if not opened.files(SPLITS_ROLE) and not rules.policy.looked_up:
        return Groups(opened.folder), None, []
    try:
        entry = splits_entry(opened)
        table = _table(opened.folder, entry, len(rules.policy.splits))
    except (ManifestError, StorageError, BadData) as error:
        return Groups(opened.folder), None, [f"splits file: {error}"]
    problems = []
    for number, name in enumerate(rules.policy.splits):
        stats = opened.manifest.stats.splits[name]
        mine = table[table["split"] == number]
        if len(mine) != stats.groups:
            problems.append(
                f"splits file: expected {stats.groups:,} groups in split {name}, found"
                f" {len(mine):,}"
            )
        # Where there is one split only, records may have no group.
        records = int(mine["records"].sum())
        if records != stats.records and (len(rules.policy.splits) > 1 or records > stats.records):
            problems.append(
                f"splits file: expected {stats.records:,} records in split {name}, found"
                f" {records:,}"
            )
    return Groups(opened.folder, entry), table, problems


def groups_of(rules: Rules, unit: tuple[int, Source, Placed | None]) -> NDArray[np.void]:
    """The groups of one features file, by what was decided for it."""
    _, source, placed = unit
    return scan(read_identities(source, rules.schema.feature), rules, placed).sections["groups"]


def against_decision(
    table: NDArray[np.void], parts: Sequence[NDArray[np.void]], splits: Sequence[str]
) -> tuple[list[str], dict[int, str]]:
    """Compare the splits file with what the inputs give.

    Args:
        table: the splits file.
        parts: `groups_of` every features file.
        splits: the names.

    Returns:
        What is wrong, and for groups in another split (the first thousand) the right one.
    """
    expected = merged(parts)
    if np.array_equal(expected, table):
        return [], {}
    problems = []
    if torn := len(expected) - len(np.unique(expected["group"])):
        problems.append(f"inputs: {torn:,} groups lie in two splits, by what is said of them")
    found = numbers_of(table, expected["group"], NO_SPLIT)
    elsewhere = np.flatnonzero((found != expected["split"]) & (found != NO_SPLIT))
    lacking = int((found == NO_SPLIT).sum())
    beyond = len(np.setdiff1d(table["group"], expected["group"]))
    problems += [
        f"splits file: {count:,} groups {what}"
        for count, what in (
            (len(elsewhere), "lie in another split than was decided"),
            (lacking, "of the inputs are lacking"),
            (beyond, "are not in the inputs"),
        )
        if count
    ] or ["splits file: groups with another number of records than the inputs have"]
    wrong = {int(row["group"]): splits[row["split"]] for row in expected[elsewhere[:_NAMED]]}
    return problems, wrong


_NAMED = 1000
