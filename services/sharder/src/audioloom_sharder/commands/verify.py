"""`verify`: read a committed run and check every claim of its manifest."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from audioloom_manifest.errors import ManifestError
from audioloom_manifest.kinds import CoefficientStats, ShardsManifest
from audioloom_manifest.reader import Opened, read_manifest
from audioloom_stage.errors import BadData
from audioloom_stage.escapes import printable
from audioloom_stage.exit_codes import ExitCode
from audioloom_stage.progress_bar import progress
from audioloom_stage.result import Result
from audioloom_stage.terminal import counted
from audioloom_storage import StorageError

from audioloom_sharder.errors import DamagedShards
from audioloom_sharder.io.executor import RunUnits, executor
from audioloom_sharder.recipe import ALGORITHM
from audioloom_sharder.rules import Rules
from audioloom_sharder.settings import VerifySettings
from audioloom_sharder.sharding.assignment import records_in
from audioloom_sharder.statistics import CoefficientSums
from audioloom_sharder.steps.decide_splits import SourceUnit
from audioloom_sharder.steps.merge import INDEX_ROLE, SHARD_ROLE
from audioloom_sharder.verification.manifest import (
    check_label_stats,
    check_resampling,
    claimed_copies,
)
from audioloom_sharder.verification.shard import (
    Findings,
    ShardFiles,
    check_shard,
    expected_findings,
    total_findings,
)
from audioloom_sharder.verification.splits import (
    compare_groups,
    groups_of,
    open_groups,
    reopen_inputs,
)

_SHOWN = 20


def verify(settings: VerifySettings) -> Result:
    """Check a shards run; list its problems and exit with code 65 if there are any."""
    settings.check_configured()
    opened = read_manifest(settings.run, "shards")
    if opened.manifest.recipe.algorithm != ALGORITHM:
        raise DamagedShards(
            expected=f"shards made by algorithm {ALGORITHM}",
            found=f"algorithm {opened.manifest.recipe.algorithm}",
            where=opened.location,
            hint="Verify them with the release that wrote them.",
        )
    with executor(settings, opened.root) as run_units:
        problems, seen = _check(opened, settings, run_units)
    what = f"{counted(len(opened.files(SHARD_ROLE)), 'shards')}, {counted(seen.records, 'records')}"
    remark = "" if settings.inputs else " (inputs not read)"
    text = f"{opened.folder}: {what}: all as the manifest says{remark}"
    if problems:
        more = len(problems) - _SHOWN
        lines = [*problems[:_SHOWN], *([f"and {more} more"] if more > 0 else [])]
        text = f"{opened.folder}: {counted(len(problems), 'problems')}\n" + "\n".join(
            map(printable, lines)
        )
    return Result(
        text=text,
        data={
            "location": str(opened.location),
            "records": seen.records,
            "inputs_read": settings.inputs,
            "problems": list(problems),
        },
        exit_code=ExitCode.BAD_DATA if problems else ExitCode.DONE,
        problem=f"{len(problems)} problems",
    )


def _check(
    opened: Opened[ShardsManifest], settings: VerifySettings, run_units: RunUnits
) -> tuple[list[str], Findings]:
    recipe, stats = opened.manifest.recipe, opened.manifest.stats
    copies = claimed_copies(opened)
    names = () if recipe.splits else tuple(sorted(stats.splits))
    rules = Rules(recipe, stats.feature, data_splits=names, resampling=copies)
    pairs, problems = _pairs(opened, rules)
    inputs: tuple[Rules, list[SourceUnit]] | None = None
    if settings.inputs:
        try:
            decided, units = reopen_inputs(opened, settings.split_table, run_units)
            # Among other splits than the manifest's there may be none to train on.
            known = copies if decided.splits == rules.splits else None
            inputs = replace(decided, resampling=known), units
        except (ManifestError, StorageError, BadData) as error:
            problems.append(f"input: {error}")
    claims, table, wrong = open_groups(opened, rules)
    problems += wrong
    if inputs is not None and table is not None:
        decided, units = inputs
        parts = list(run_units(units, partial(groups_of, decided)))
        wrong, elsewhere = compare_groups(table, parts, decided.splits)
        problems += wrong
        claims = replace(claims, wrong=elsewhere)
    with progress(len(pairs), "reading shards", "shards") as bar:
        shards = list(bar.over(run_units(pairs, partial(check_shard, claims))))
    problems += [problem for seen in shards for problem in seen.problems]
    whole = total_findings(shards)
    problems += _check_stats(opened, shards)
    problems += check_label_stats(opened)
    if inputs is not None:
        problems += _check_inputs(opened, *inputs, whole, run_units)
    return sorted(problems), whole


def _pairs(opened: Opened[ShardsManifest], rules: Rules) -> tuple[list[ShardFiles], list[str]]:
    """Pair each shard with its index, if any; return also problems of the list of files."""
    files = {(one.split, one.role, one.shard): one for one in opened.files()}
    pairs, problems = [], []
    for name, stats in opened.manifest.stats.splits.items():
        listed = sorted({shard for split, _, shard in files if split == name and shard is not None})
        numbers = [number for number in listed if number < stats.shards]
        if lacking := stats.shards - len(numbers):
            first = min({*range(len(numbers) + 1)} - {*numbers})
            problems.append(
                f"{name}: the list of files lacks {lacking:,} of {stats.shards:,} shards, the first"
                f" is {first:05d}"
            )
        if len(numbers) < len(listed):
            problems.append(f"{name}: shard {listed[len(numbers)]} of {stats.shards}")
        for number in numbers:
            data, index = (files.get((name, role, number)) for role in (SHARD_ROLE, INDEX_ROLE))
            if data is None or (rules.indexed and index is None):
                problems.append(f"{name} {number:05d}: the list of files lacks shard or index")
                continue
            pairs.append((data, index))
            expected = records_in(number, stats.shards, stats.records)
            if data.records != expected:
                problems.append(
                    f"{data.path}: expected {expected} records for balance, found {data.records} in"
                    " the list of files"
                )
    return pairs, problems


def _check_stats(opened: Opened[ShardsManifest], shards: Sequence[Findings]) -> Iterator[str]:
    for name, stats in opened.manifest.stats.splits.items():
        seen = total_findings([one for one in shards if one.split == name])
        for what, expected, found in (
            ("records", stats.records, seen.records),
            ("bytes", stats.bytes, seen.size),
            ("records of each label", dict(stats.labels), dict(seen.labels)),
        ):
            if expected != found:
                yield f"split {name}: expected {expected} {what}, found {found}"
        if stats.coefficients is not None and seen.records:
            yield from _check_coefficients(name, stats.coefficients, seen.coefficients)
        if stats.targets not in (None, numbers := seen.targets.stats()):
            yield f"split {name}: expected targets of {stats.targets}, found {numbers}"


def _check_coefficients(
    name: str, claimed: CoefficientStats, sums: CoefficientSums
) -> Iterator[str]:
    """Compare the coefficients within the rounding differences between NumPy versions."""
    found = sums.stats()
    for what in ("mean", "variance"):
        expected, seen = np.array(getattr(claimed, what)), np.array(getattr(found, what))
        if expected.shape != seen.shape or not np.allclose(expected, seen, rtol=1e-6, atol=1e-6):
            yield f"split {name}: expected the {what} of the coefficients that records have"


def _check_inputs(
    opened: Opened[ShardsManifest],
    rules: Rules,
    units: Sequence[SourceUnit],
    seen: Findings,
    run_units: RunUnits,
) -> list[str]:
    """Check that the shards hold every window of the features exactly once, unchanged."""
    task = partial(expected_findings, rules, opened.manifest.stats.labels)
    with progress(len(units), "reading features", "files") as bar:
        parts = list(bar.over(run_units(units, task)))
    whole = total_findings(parts)
    problems = [problem for part in parts for problem in part.problems]
    problems += check_resampling(opened, whole.offered)
    claimed = opened.manifest.stats.excluded
    if whole.excluded != claimed:
        problems.append(f"inputs: expected {claimed} left out, found {dict(whole.excluded)}")
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
