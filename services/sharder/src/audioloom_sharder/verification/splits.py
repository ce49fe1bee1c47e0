"""Check the splits of a run against its inputs, which are opened again."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
from audioloom_manifest.envelope import FileEntry, InputRef
from audioloom_manifest.errors import ManifestError
from audioloom_manifest.kinds import ShardsManifest
from audioloom_manifest.reader import Opened, read_manifest, resolve_input
from audioloom_manifest.records.example import Record
from audioloom_manifest.tables import BadTable
from audioloom_stage.errors import BadData
from audioloom_storage import Location, StorageError
from numpy.typing import NDArray

from audioloom_sharder.errors import DamagedShards
from audioloom_sharder.inputs.manifests import open_inputs
from audioloom_sharder.io.executor import RunUnits
from audioloom_sharder.recipe import rules_of
from audioloom_sharder.rules import Rules
from audioloom_sharder.splits.assign import SplitSource
from audioloom_sharder.splits.groups_file import (
    SPLITS_ROLE,
    merge_groups,
    open_previous_run,
    read_groups,
    splits_entry,
)
from audioloom_sharder.splits.hashing import SplitLookup, group_hashes, split_of
from audioloom_sharder.splits.ratios import NO_SPLIT, compile_pattern, split_of_path
from audioloom_sharder.splits.table import open_split_table
from audioloom_sharder.steps.decide_splits import SourceUnit, decide_in_memory
from audioloom_sharder.windows.metadata_scan import scan

_NAMED = 1000
"""Groups whose right split is reported."""


@dataclass(frozen=True)
class RunClaims:
    """The claims of a run's manifest about every shard, and the groups in a wrong split."""

    folder: Location
    rules: Rules
    label_ids: dict[str, int]
    """The number of each label."""
    by_hash: bool
    """Whether splits follow from the group and the ratios alone."""
    entry: FileEntry | None = None
    """The splits file."""
    wrong: dict[int, str] = field(default_factory=dict)
    """Group hash: the decided split."""


@lru_cache(maxsize=1)
def _table(folder: Location, entry: FileEntry, splits: int) -> NDArray[np.void]:
    return read_groups(folder, entry, splits)


def wrong_splits(split: str, records: Sequence[Record], claims: RunClaims) -> Iterator[str]:
    """Report records that lie in *split* but belong in another split."""
    rules = claims.rules
    hashes = group_hashes((record.group for record in records), seed=rules.recipe.seed)
    splits = rules.splits
    hashed = split_of(hashes, rules.ratios).tolist() if claims.by_hash else []
    numbers: list[int] = []  # nothing to compare with if the splits file is missing
    if claims.entry is not None:
        table = _table(claims.folder, claims.entry, len(splits))
        numbers = SplitLookup(table["group"], table["split"]).find(hashes).tolist()
    pattern = rules.recipe.split_pattern and compile_pattern(rules.recipe.split_pattern)
    for at, (record, value) in enumerate(zip(records, hashes.tolist(), strict=True)):
        group = f"record {at}: the group {record.group!r:.100}"
        if not record.group:
            if len(splits) > 1:
                yield f"{group} is no group"
            continue
        if claims.by_hash and splits[hashed[at]] != split:
            yield f"{group} belongs to split {splits[hashed[at]]}"
        elif value in claims.wrong:
            yield f"{group} belongs to split {claims.wrong[value]}"
        elif numbers and numbers[at] == NO_SPLIT:
            yield f"{group} is not in the splits file"
        elif numbers and splits[numbers[at]] != split:
            yield f"{group} lies in split {splits[numbers[at]]} by the splits file"
        elif pattern and split_of_path(pattern, record.path) != split:
            yield (
                f"record {at}: the path {record.path!r:.200} belongs to split"
                f" {split_of_path(pattern, record.path)}"
            )


def previous_run_reference(opened: Opened[ShardsManifest]) -> InputRef | None:
    """Return the previous run whose splits this run kept; None without one."""
    return next((one for one in opened.manifest.inputs if one.kind == "shards"), None)


def reopen_inputs(
    opened: Opened[ShardsManifest], table: str | None, run_units: RunUnits
) -> tuple[Rules, list[SourceUnit]]:
    """Open the inputs of a run, and decide its splits again; return rules and a unit for each file.

    *table* is the new location of the split table, if it was moved.

    Raises:
        ManifestError, StorageError, BadData: an input is missing, damaged or replaced.
    """
    features = [one for one in opened.manifest.inputs if one.kind == "features"]
    inputs = open_inputs([_same(opened, reference) for reference in features])
    recipe, source = opened.manifest.recipe, _split_table(opened, table)
    if reference := previous_run_reference(opened):
        place = _same(opened, reference)
        source = open_previous_run(place, opened.root, sorted(recipe.splits))
    rules = rules_of(recipe, inputs, source)
    return decide_in_memory(inputs, rules, source, run_units)


def _same(opened: Opened[ShardsManifest], reference: InputRef) -> str:
    """Return the location of an input; raise DamagedShards if its identity has changed."""
    place = resolve_input(reference, opened.root)
    found = read_manifest(place, reference.kind)
    if found.manifest.identity != reference.identity:
        raise DamagedShards(
            expected=f"the {reference.kind} {reference.identity}",
            found=found.manifest.identity,
            where=found.location,
            hint=f"Other {reference.kind} lie there now.",
        )
    return str(place)


def _split_table(opened: Opened[ShardsManifest], place: str | None) -> SplitSource:
    expected = opened.manifest.recipe.split_table_sha256
    if expected is None:
        return None
    where = place or opened.manifest.execution.settings.get("split_table")
    if not isinstance(where, str):
        raise BadTable(
            expected="the location of the split table",
            found="none in the manifest",
            where=opened.location,
            hint="Give it with --split-table.",
        )
    table = open_split_table(where)
    if table.sha256 != expected:
        raise BadTable(
            expected=f"the table with SHA-256 {expected}",
            found=table.sha256,
            where=table.location,
            hint="Another table lies there now: give the right one with --split-table.",
        )
    return table


def open_groups(
    opened: Opened[ShardsManifest], rules: Rules
) -> tuple[RunClaims, NDArray[np.void] | None, list[str]]:
    """Open the splits file; return the claims, its groups, and contradictions to the stats.

    Runs that older releases split by hash have no splits file and need none.
    """
    by_hash = not rules.needs_lookup and previous_run_reference(opened) is None
    label_ids = {label: number for number, label in enumerate(opened.manifest.stats.labels)}
    claims = RunClaims(opened.folder, rules, label_ids, by_hash)
    if not opened.files(SPLITS_ROLE) and by_hash:
        return claims, None, []
    try:
        entry = splits_entry(opened)
        table = _table(opened.folder, entry, len(rules.splits))
    except (ManifestError, StorageError, BadData) as error:
        return claims, None, [f"splits file: {error}"]
    problems = []
    for number, name in enumerate(rules.splits):
        stats = opened.manifest.stats.splits[name]
        mine = table[table["split"] == number]
        if len(mine) != stats.groups:
            problems.append(
                f"splits file: expected {stats.groups:,} groups in split {name}, found"
                f" {len(mine):,}"
            )
        # With only one split, records may have no group.
        records = int(mine["records"].sum())
        if records != stats.records and (len(rules.splits) > 1 or records > stats.records):
            problems.append(
                f"splits file: expected {stats.records:,} records in split {name}, found"
                f" {records:,}"
            )
    return replace(claims, entry=entry), table, problems


def groups_of(rules: Rules, unit: SourceUnit) -> NDArray[np.void]:
    """Read the groups of one features file, with their decided splits."""
    return scan(unit.windows(rules), rules)[0]["groups"]


def compare_groups(
    table: NDArray[np.void], parts: Sequence[NDArray[np.void]], splits: Sequence[str]
) -> tuple[list[str], dict[int, str]]:
    """Compare the splits file with the groups of all features files (`groups_of`).

    Return the problems, and the right split of misplaced groups (the first thousand).
    """
    expected = merge_groups(parts)
    if np.array_equal(expected, table):
        return [], {}
    problems = []
    if torn := len(expected) - len(np.unique(expected["group"])):
        problems.append(f"inputs: {torn:,} groups lie in two splits")
    found = SplitLookup(table["group"], table["split"]).find(expected["group"])
    elsewhere = np.flatnonzero((found != expected["split"]) & (found != NO_SPLIT))
    lacking = int((found == NO_SPLIT).sum())
    beyond = len(np.setdiff1d(table["group"], expected["group"]))
    problems += [
        f"splits file: {count:,} groups {what}"
        for count, what in (
            (len(elsewhere), "lie in another split than decided"),
            (lacking, "of the inputs are missing"),
            (beyond, "are not in the inputs"),
        )
        if count
    ] or ["splits file: groups with another number of records than the inputs have"]
    wrong = {int(row["group"]): splits[row["split"]] for row in expected[elsewhere[:_NAMED]]}
    return problems, wrong
