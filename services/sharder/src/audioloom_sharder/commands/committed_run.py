"""The stats of a run at its commit, and the check and the result of a committed run."""

import shlex
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from audioloom_manifest.file_list import check_files
from audioloom_manifest.kinds import ShardsManifest, ShardsStats, SplitStats
from audioloom_manifest.reader import Opened
from audioloom_manifest.receipts import Receipt
from audioloom_stage.result import Result

from audioloom_sharder.errors import DamagedShards
from audioloom_sharder.rules import Rules
from audioloom_sharder.sharding.layout import Layout
from audioloom_sharder.sharding.ranking import DistinctCounts
from audioloom_sharder.statistics import COEFFICIENT_SUMS, CoefficientSums
from audioloom_sharder.steps.merge import SHARD_ROLE, shard_units


def stats_of(
    layout: Layout,
    rules: Rules,
    counted: DistinctCounts,
    receipts: Sequence[Receipt],
    excluded: Mapping[str, int],
) -> ShardsStats:
    """Compute the stats of a finished run; bytes count the files as written."""
    size: Counter[str] = Counter()
    coefficients: dict[str, CoefficientSums] = defaultdict(CoefficientSums)
    for unit, receipt in zip(shard_units(layout), receipts, strict=True):
        name = layout.splits[unit.split].name
        size[name] += sum(entry.bytes for entry in receipt.files if entry.role == SHARD_ROLE)
        coefficients[name] += COEFFICIENT_SUMS.validate_python(receipt.counts["moments"])
    return ShardsStats(
        feature=rules.feature,
        labels=layout.labels,
        excluded=dict(sorted(excluded.items())),
        class_weights=layout.class_weights,
        resampling=rules.resampling,
        splits={
            split.name: SplitStats(
                records=split.records,
                shards=split.shards,
                lanes=split.lanes,
                bytes=size[split.name],
                recordings=counted.recordings[number],
                groups=counted.groups[number],
                labels=split.labels,
                coefficients=coefficients[split.name].stats(),
                targets=split.targets.stats(),
            )
            for number, split in enumerate(layout.splits)
        },
    )


def check_complete(opened: Opened[ShardsManifest]) -> None:
    """Raise DamagedShards for the first file of a run that is missing or has another size."""
    problems = list(check_files(opened.folder, opened.files(), content=False))
    if problems:
        raise DamagedShards(
            f"the run is committed, but {len(problems)} of its files are missing or cut",
            found=str(problems[0]),
            where=opened.location,
            hint=f"Remove the folder {opened.folder} and run again: the shards will be the same.",
        )


def run_data(opened: Opened[ShardsManifest]) -> dict[str, Any]:
    """Return the facts about a run for JSON output."""
    manifest = opened.manifest
    return {
        "location": str(opened.location),
        "name": manifest.name,
        "identity": manifest.identity,
        "labels": list(manifest.stats.labels),
        "class_weights": manifest.stats.class_weights,
        "splits": {
            name: split.model_dump(mode="json", exclude={"coefficients"})
            for name, split in manifest.stats.splits.items()
        },
    }


def run_result(opened: Opened[ShardsManifest], *, ours: bool) -> Result:
    """Build the result of `run`; *ours* says that this attempt committed the run."""
    where = str(opened.location)
    readable = opened.manifest.recipe.format == "tfrecord"
    useful = ("sharder inspect", "sharder verify", *(["trainer run"] if readable else []))
    return Result(
        text=where,
        data={**run_data(opened), "already_committed": not ours},
        next=tuple(f"audioloom-{each} {shlex.quote(str(opened.folder))}" for each in useful),
    )
