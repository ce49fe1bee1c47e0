"""`verify`: read a run again and check every claim of its manifest, trusting none of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from audioloom_manifest import (
    CoefficientStats,
    FileEntry,
    ManifestError,
    Opened,
    ShardsManifest,
    read_manifest,
)
from audioloom_stage import BadData, ExitCode, Result, printable, progress
from audioloom_storage import StorageError

from audioloom_sharder.errors import DamagedShards
from audioloom_sharder.formats.codec import Packing
from audioloom_sharder.io.executor import RunUnits, engine
from audioloom_sharder.recipe import ALGORITHM, packing_of, policy_of, schema_of
from audioloom_sharder.settings import VerifySettings
from audioloom_sharder.sharding.assignment import records_in_shard
from audioloom_sharder.statistics.coefficients import Moments, summed
from audioloom_sharder.steps.merge import INDEX_ROLE, SHARD_ROLE
from audioloom_sharder.verification.lineage import MadeFrom, kept_reference, location_of, made_from
from audioloom_sharder.verification.manifest import claimed_copies, label_claims, resampling_claims
from audioloom_sharder.verification.shard import Pair, Seen, check_pair, look_at_source, together
from audioloom_sharder.verification.splits import against_decision, groups_of, open_groups
from audioloom_sharder.windows.rules import Rules

_SHOWN = 20


@dataclass(frozen=True)
class _Verdict:
    """All that is wrong, and what was seen."""

    problems: list[str]
    seen: Seen


def verify(settings: VerifySettings) -> Result:
    """Check a shards run; exit code 65 and a list when something is wrong."""
    settings.check_configured()
    opened = read_manifest(settings.run, "shards")
    if opened.manifest.recipe.algorithm != ALGORITHM:
        raise DamagedShards(
            expected=f"shards made by algorithm {ALGORITHM}",
            found=f"algorithm {opened.manifest.recipe.algorithm}",
            where=opened.location,
            hint="Verify them with the release that wrote them.",
        )
    with engine(settings, opened.root) as run_units:
        verdict = _check(opened, settings, run_units)
    problems = verdict.problems
    what = f"{len(opened.files(SHARD_ROLE))} shards, {verdict.seen.records:,} records"
    told = "" if settings.inputs else " (inputs not read)"
    text = f"{opened.folder}: {what}: all as the manifest says{told}"
    if problems:
        more = len(problems) - _SHOWN
        lines = [*problems[:_SHOWN], *([f"and {more} more"] if more > 0 else [])]
        text = f"{opened.folder}: {len(problems)} problems\n" + "\n".join(map(printable, lines))
    return Result(
        text=text,
        data={
            "manifest": opened.location.uri,
            "records": verdict.seen.records,
            "inputs_read": settings.inputs,
            "problems": list(problems),
        },
        exit_code=ExitCode.BAD_DATA if problems else ExitCode.DONE,
        problem=f"{len(problems)} problems",
    )


def _check(
    opened: Opened[ShardsManifest], settings: VerifySettings, run_units: RunUnits
) -> _Verdict:
    recipe = opened.manifest.recipe
    policy = policy_of(recipe)
    policy = replace(
        policy,
        named=tuple(sorted(opened.manifest.stats.splits)) if policy.said else (),
        kept_seed=0 if kept_reference(opened) else None,
    )
    rules = Rules(
        policy,
        schema_of(recipe, opened.manifest.stats.feature),
        weights=recipe.class_weights,
        resample=recipe.resample,
        resampling=claimed_copies(opened),
    )
    packing = packing_of(recipe)
    pairs, problems = _pairs(opened, packing)
    labels = opened.manifest.stats.labels
    made: MadeFrom | None = None
    if settings.inputs:
        try:
            made = made_from(opened, settings.split_table, run_units)
            known = replace(made.rules, resampling=rules.resampling)
            made = replace(made, rules=known)
        except (ManifestError, StorageError, BadData) as error:
            problems.append(f"input: {error}")
    groups, table, wrong = open_groups(opened, rules)
    problems += wrong
    if made is not None and table is not None:
        parts = list(run_units(made.units, partial(groups_of, made.rules), location_of))
        wrong, elsewhere = against_decision(table, parts, made.rules.policy.splits)
        problems += wrong
        groups = replace(groups, wrong=elsewhere)
    task = partial(check_pair, opened.folder, rules, packing, labels, groups)
    shards: list[Seen] = []
    with progress(len(pairs), "reading shards", "shards") as bar:
        for seen in bar.over(run_units(pairs, task)):
            shards.append(seen)
            problems += seen.problems
    whole = together(shards)
    problems += _against_stats(opened, shards)
    problems += label_claims(opened, rules)
    if made is not None:
        problems += _against_inputs(opened, made, whole, run_units)
    return _Verdict(sorted(problems), whole)


def _pairs(opened: Opened[ShardsManifest], packing: Packing) -> tuple[list[Pair], list[str]]:
    """Each shard with its index, if it has one, and what the list of files lacks."""
    files = opened.files()
    pairs, problems = [], []
    for name, stats in opened.manifest.stats.splits.items():
        data, index = (_numbered(files, name, role) for role in (SHARD_ROLE, INDEX_ROLE))
        for number in range(stats.shards):
            if number not in data or (packing.indexed and number not in index):
                problems.append(f"{name} {number:05d}: the list of files lacks shard or index")
                continue
            pairs.append(Pair(name, number, data[number], index.get(number)))
            expected = records_in_shard(number, stats.shards, stats.records)
            if data[number].records != expected:
                problems.append(
                    f"{data[number].path}: expected {expected} records for balance,"
                    f" found {data[number].records} in the list of files"
                )
        if beyond := sorted(number for number in {*data, *index} if number >= stats.shards):
            problems.append(f"{name}: shard {beyond[0]} of {stats.shards}")
    return pairs, problems


def _numbered(files: Sequence[FileEntry], split: str, role: str) -> dict[int, FileEntry]:
    return {
        entry.shard: entry
        for entry in files
        if entry.split == split and entry.role == role and entry.shard is not None
    }


def _against_stats(opened: Opened[ShardsManifest], shards: Sequence[Seen]) -> Iterator[str]:
    for name, stats in opened.manifest.stats.splits.items():
        seen = together([one for one in shards if one.split == name])
        for what, expected, found in (
            ("records", stats.records, seen.records),
            ("bytes", stats.bytes, seen.size),
            ("records of each label", dict(stats.labels), dict(seen.labels)),
        ):
            if expected != found:
                yield f"split {name}: expected {expected} {what}, found {found}"
        if stats.coefficients is not None and seen.records:
            yield from _against_coefficients(name, stats.coefficients, seen.moments)
        if stats.targets not in (None, numbers := seen.targets.stats()):
            yield f"split {name}: expected targets of {stats.targets}, found {numbers}"


def _against_coefficients(
    name: str, claimed: CoefficientStats, moments: Sequence[Moments]
) -> Iterator[str]:
    """Equal but for what another NumPy may round otherwise within a record."""
    found = summed(moments, len(moments[0].values)).stats()
    for what in ("mean", "variance"):
        expected, seen = np.array(getattr(claimed, what)), np.array(getattr(found, what))
        if expected.shape != seen.shape or not np.allclose(expected, seen, rtol=1e-6, atol=1e-6):
            yield f"split {name}: expected the {what} of the coefficients that records have"


def _against_inputs(
    opened: Opened[ShardsManifest], made: MadeFrom, seen: Seen, run_units: RunUnits
) -> list[str]:
    """Every window of the features exactly once, with its own values."""
    task = partial(look_at_source, made.rules, opened.manifest.stats.labels)
    parts: list[Seen] = []
    with progress(len(made.units), "reading features", "files") as bar:
        parts.extend(bar.over(run_units(made.units, task, location_of)))
    whole = together(parts)
    problems = [problem for part in parts for problem in part.problems]
    problems += resampling_claims(opened, whole.offered)
    claimed = opened.manifest.stats.excluded
    if whole.left_out != claimed:
        problems.append(f"inputs: expected {claimed} left out, found {dict(whole.left_out)}")
    if whole.records != seen.records:
        problems.append(
            f"inputs: expected {whole.records:,} records, one for each window, found"
            f" {seen.records:,}"
        )
    elif whole.content != seen.content:
        problems.append(
            "inputs: the records are not the windows of the features, each once, with its own"
            " values"
        )
    return problems
