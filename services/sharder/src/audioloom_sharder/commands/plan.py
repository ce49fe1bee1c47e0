"""`plan`: show the shards that `run` would write and the steps of training; write nothing."""

from dataclasses import asdict, dataclass
from functools import partial

from audioloom_manifest import Plan, find_committed, root_of
from audioloom_runs.tables import size_text, table
from audioloom_stage import JSON, Result, printable, progress

from audioloom_sharder.balance.class_weights import weights_text
from audioloom_sharder.commands.deviations import deviations_of, deviations_text
from audioloom_sharder.commands.warnings import warnings_of
from audioloom_sharder.inputs.reader import read_identities
from audioloom_sharder.io.executor import executor
from audioloom_sharder.recipe import request_run
from audioloom_sharder.settings import PlanSettings
from audioloom_sharder.sharding.assignment import divisors, replica_records, steps_per_epoch
from audioloom_sharder.sharding.layout import Layout, SplitLayout, make_layout
from audioloom_sharder.sharding.ranking import DistinctCounts, count_distinct
from audioloom_sharder.splits.deviation import SHOWN, Deviation
from audioloom_sharder.splits.groups_file import merge_groups
from audioloom_sharder.steps.decide_splits import SourceUnit, decide_in_memory, location_of
from audioloom_sharder.steps.groups import check_whole
from audioloom_sharder.steps.resample import resampled
from audioloom_sharder.windows.metadata_scan import COUNTED, Scan, scan
from audioloom_sharder.windows.rules import Rules
from audioloom_sharder.windows.selection import Windows, windows_of
from audioloom_sharder.windows.summary import sum_summaries


@dataclass(frozen=True)
class Epoch:
    """An epoch of one split with a number of replicas."""

    replicas: int
    steps: int
    last_batch: int
    """Records of the last global batch."""
    most: int
    """Records of the replica that has most."""
    least: int
    bytes: int
    """Bytes a replica reads, about."""


@dataclass(frozen=True)
class _Planned:
    plan: Plan
    committed: bool
    layout: Layout
    counted: DistinctCounts
    epochs: dict[str, dict[int, Epoch | None]]
    batch: int
    deviations: list[Deviation]
    warnings: list[str]


def plan(settings: PlanSettings) -> Result:
    """Scan the inputs and show the splits, shards and steps that a run would make."""
    settings.check_configured()
    request = request_run(settings)
    inputs = request.inputs
    committed = find_committed(request.plan) is not None
    with executor(settings, root_of(request.plan.folder)) as run_units:
        rules, units = decide_in_memory(inputs, request.rules, request.split_sources, run_units)
        rules = resampled(rules, units, partial(_windows, rules), location_of, run_units)
        with progress(len(units), "scanning", "files") as bar:
            scans = dict(bar.over(run_units(units, partial(_scan, rules), location_of)))
    parts = [scans[unit.number] for unit in units]
    summary = sum_summaries((one.summary for one in parts), rules.policy.splits)
    layout = make_layout(summary, rules, request.sizes, where=inputs.where)
    groups, recordings, contents = ([one.sections[name] for one in parts] for name in COUNTED)
    if rules.policy.needs_lookup:
        lookups = [unit.lookup for unit in units]
        check_whole(merge_groups(groups), groups, inputs.sources, rules, lookups.__getitem__)
    counted = count_distinct(groups, recordings, contents, splits=len(rules.policy.splits))
    epochs = {
        split.name: {
            count: epoch_of(split, count, settings.batch_size) for count in settings.replica_counts
        }
        for split in layout.splits
    }
    warnings = list(warnings_of(layout, rules, request.sizes, counted, summary))
    if not request.codec.is_plain:
        warnings.append("bytes are those of uncompressed TFRecord; the files will differ")
    deviations = deviations_of(layout, rules)
    planned = _Planned(
        request.plan, committed, layout, counted, epochs, settings.batch_size, deviations, warnings
    )
    return Result(text=_text(planned), data=_data(planned))


def epoch_of(split: SplitLayout, replicas: int, batch: int) -> Epoch | None:
    """Compute the epoch of *split*; None if *replicas* does not divide its lanes."""
    if split.lanes % replicas:
        return None
    most = replica_records(0, replicas, split.records)
    return Epoch(
        replicas=replicas,
        steps=steps_per_epoch(split.records, batch),
        last_batch=(split.records - 1) % batch + 1,
        most=most,
        least=replica_records(replicas - 1, replicas, split.records),
        bytes=round(split.bytes / split.records * most),
    )


def _windows(rules: Rules, unit: SourceUnit) -> Windows:
    return windows_of(read_identities(unit.source, rules.schema.feature), rules, unit.lookup)


def _scan(rules: Rules, unit: SourceUnit) -> tuple[int, Scan]:
    """Scan a file; drop the section that counting does not need."""
    found = scan(read_identities(unit.source, rules.schema.feature), rules, unit.lookup)
    return unit.number, Scan({name: found.sections[name] for name in COUNTED}, found.summary)


def _text(planned: _Planned) -> str:
    layout = planned.layout
    verb = "already committed:" if planned.committed else "would write"
    parts = [
        f"{verb} {layout.records:,} records in {layout.shards:,} shards, {planned.plan.folder}",
        table(_SPLIT_HEAD, [_split_row(planned, at) for at in range(len(layout.splits))]),
        f"an epoch in global batches of {planned.batch:,} records",
        table(
            _EPOCH_HEAD,
            [
                _epoch_row(split, count, epoch)
                for split in layout.splits
                for count, epoch in planned.epochs[split.name].items()
            ],
        ),
        f"class weights: {weights_text(weights)}" if (weights := layout.class_weights) else "",
        deviations_text(planned.deviations),
        "\n".join(f"warning: {printable(one)}" for one in planned.warnings),
    ]
    return "\n\n".join(part for part in parts if part)


_SPLIT_HEAD = (
    *("split", "records", "recordings", "groups", "labels"),
    *("shards", "lanes", "a shard holds", "bytes"),
)
_EPOCH_HEAD = ("split", "replicas", "steps", "last batch", "a replica reads", "bytes")


def _split_row(planned: _Planned, number: int) -> tuple[str, ...]:
    split = planned.layout.splits[number]
    return (
        split.name,
        f"{split.records:,}",
        f"{planned.counted.recordings[number]:,}",
        f"{planned.counted.groups[number]:,}",
        f"{len(split.labels):,}",
        f"{split.shards:,}",
        f"{split.lanes}",
        _span(split.records_in(split.shards - 1), split.records_in(0)),
        size_text(split.bytes),
    )


def _epoch_row(split: SplitLayout, count: int, epoch: Epoch | None) -> tuple[str, ...]:
    if epoch is None:
        allowed = ", ".join(map(str, divisors(split.lanes)))
        return (split.name, str(count), f"does not divide {split.lanes} lanes; these do: {allowed}")
    return (
        split.name,
        str(count),
        f"{epoch.steps:,}",
        f"{epoch.last_batch:,}",
        _span(epoch.least, epoch.most),
        size_text(epoch.bytes),
    )


def _span(least: int, most: int) -> str:
    return f"{most:,}" if least == most else f"{least:,} or {most:,}"


def _data(planned: _Planned) -> dict[str, JSON]:
    splits: dict[str, JSON] = {}
    for number, split in enumerate(planned.layout.splits):
        targets = split.targets.stats()
        splits[split.name] = {
            "records": split.records,
            "recordings": planned.counted.recordings[number],
            "groups": planned.counted.groups[number],
            "labels": dict(split.labels),
            "targets": None if targets is None else targets.model_dump(mode="json"),
            "shards": split.shards,
            "lanes": split.lanes,
            "bytes": split.bytes,
            "replicas": {
                str(count): None if epoch is None else {**asdict(epoch)}
                for count, epoch in planned.epochs[split.name].items()
            },
        }
    return {
        "name": planned.plan.name,
        "location": str(planned.plan.folder),
        "committed": planned.committed,
        "labels": list(planned.layout.labels),
        "class_weights": planned.layout.class_weights,
        "batch_size": planned.batch,
        "splits": splits,
        "deviations": [asdict(one) for one in planned.deviations[:SHOWN]],
        "warnings": [*planned.warnings],
    }
