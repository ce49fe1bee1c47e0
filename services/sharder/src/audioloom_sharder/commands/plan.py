"""`plan`: show the shards that `run` would write and the steps of training; write nothing."""

import pickle
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial

from audioloom_manifest.layout import root_of
from audioloom_manifest.publication import find_committed
from audioloom_runs.attempts import new_attempt
from audioloom_runs.capacity import capacity_result
from audioloom_runs.cost import cost_facts
from audioloom_runs.tables import facts, size_text, table
from audioloom_stage.escapes import printable
from audioloom_stage.progress_bar import progress
from audioloom_stage.result import JSON, Result
from audioloom_stage.terminal import counted

from audioloom_sharder.balance.class_weights import weights_text
from audioloom_sharder.capacity import Planned, cost_of, expected_layout, lines_of
from audioloom_sharder.commands.run import job_of
from audioloom_sharder.commands.warnings import warnings_of
from audioloom_sharder.io.executor import RunUnits, executor
from audioloom_sharder.recipe import RequestedRun, request_run
from audioloom_sharder.rules import Rules
from audioloom_sharder.settings import PlanSettings, RunSettings
from audioloom_sharder.sharding.assignment import divisors, records_in, steps_per_epoch
from audioloom_sharder.sharding.layout import Layout, SplitLayout, make_layout
from audioloom_sharder.sharding.ranking import DistinctCounts, count_distinct
from audioloom_sharder.splits.deviation import SHOWN, deviations, deviations_text
from audioloom_sharder.steps.decide_splits import SourceUnit, decide_in_memory
from audioloom_sharder.steps.encode import make_segment
from audioloom_sharder.steps.job import TABLES, WORK, StoredArray, unit_name
from audioloom_sharder.steps.merge import make_shards
from audioloom_sharder.steps.rank import TornGroupError, merge_whole, raise_torn
from audioloom_sharder.steps.resample import resampled
from audioloom_sharder.windows.metadata_scan import COUNTED, Sections, Summary, scan, sum_summaries

_SPLIT_HEAD = (
    *("split", "records", "recordings", "groups", "labels"),
    *("shards", "lanes", "a shard holds", "bytes"),
)
_EPOCH_HEAD = ("split", "replicas", "steps", "last batch", "a replica reads", "bytes")


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


def plan(settings: PlanSettings) -> Result:
    """Scan the inputs and show the splits, shards and steps that a run would make."""
    settings.check_configured()
    request = request_run(settings)
    if settings.capacity:
        known = {"name": request.plan.name, "location": str(request.plan.folder)}
        return capacity_result(lines_of(expected(request)), known)
    committed = find_committed(request.plan) is not None
    with executor(settings, root_of(request.plan.folder)) as run_units:
        rules, layout, distinct, warnings = _scan_inputs(request, run_units)
    if not rules.is_plain:
        warnings.append("bytes are those of uncompressed TFRecord; the files will differ")
    far = deviations(rules.recipe.splits, layout.labels_of_splits)
    epochs = {
        split.name: {
            count: epoch_of(split, count, settings.batch_size) for count in settings.replica_counts
        }
        for split in layout.splits
    }
    splits = list(zip(layout.splits, distinct.recordings, distinct.groups, strict=True))
    run = settings
    if settings.master == "inline":  # the default here, and not that of `run`
        master = RunSettings.model_fields["master"].default
        run = settings.model_copy(update={"master": master})
    cost = cost_of(request, run.master, run.slots)
    verb = "already committed:" if committed else "would write"
    what = f"{counted(layout.records, 'records')} in {counted(layout.shards, 'shards')}"
    weights = weights_text(layout.class_weights)
    parts = [
        f"{verb} {what}, {request.plan.folder}",
        table(_SPLIT_HEAD, [_split_row(*each) for each in splits]),
        f"an epoch in global batches of {settings.batch_size:,} records",
        table(
            _EPOCH_HEAD,
            [
                _epoch_row(split, count, epoch)
                for split in layout.splits
                for count, epoch in epochs[split.name].items()
            ],
        ),
        f"class weights: {weights}" if weights else "",
        deviations_text(far),
        facts(cost_facts(cost)),
        "\n".join(f"warning: {printable(one)}" for one in warnings),
    ]
    data: dict[str, JSON] = {
        "name": request.plan.name,
        "location": str(request.plan.folder),
        "committed": committed,
        "labels": list(layout.labels),
        "class_weights": layout.class_weights,
        "batch_size": settings.batch_size,
        "splits": {
            split.name: _split_data(split, recordings, groups, epochs[split.name])
            for split, recordings, groups in splits
        },
        "deviations": [asdict(one) for one in far[:SHOWN]],
        "warnings": [*warnings],
        "cost": {name: each.to_json() for name, each in cost.items()},
    }
    return Result(text="\n\n".join(part for part in parts if part), data=data)


def expected(request: RequestedRun) -> Planned:
    """Return the counts of a run, as far as manifests tell them."""
    manifests = [opened.manifest for opened in request.inputs.manifests]
    labels = sum((Counter(one.stats.labels) for one in manifests), Counter())
    windows, rules = request.inputs.windows, request.rules
    layout = expected_layout(windows, labels, rules, request.inputs.where)
    job = job_of(request, new_attempt("sharder", {}, libraries=()), request.plan.folder / WORK)
    table = StoredArray(job.folder_of(TABLES) / unit_name(job, TABLES, 0), 0, 0)
    tasks = (partial(task, job, layout, table) for task in (make_segment, make_shards))
    return Planned(
        recordings=sum(one.stats.recordings for one in manifests),
        windows=windows,
        files=len(request.inputs.sources),
        layout=layout,
        rules=rules,
        closure=max(len(pickle.dumps(task)) for task in tasks),
    )


def epoch_of(split: SplitLayout, replicas: int, batch: int) -> Epoch | None:
    """Compute the epoch of *split*; None if *replicas* does not divide its lanes."""
    if split.lanes % replicas:
        return None
    most = records_in(0, replicas, split.records)
    return Epoch(
        replicas=replicas,
        steps=steps_per_epoch(split.records, batch),
        last_batch=(split.records - 1) % batch + 1,
        most=most,
        least=records_in(replicas - 1, replicas, split.records),
        bytes=round(split.bytes / split.records * most),
    )


def _scan_inputs(
    request: RequestedRun, run_units: RunUnits
) -> tuple[Rules, Layout, DistinctCounts, list[str]]:
    inputs = request.inputs
    rules, units = decide_in_memory(inputs, request.rules, request.split_source, run_units)
    rules = resampled(rules, units, run_units)
    with progress(len(units), "scanning", "files") as bar:
        scans = dict(bar.over(run_units(units, partial(_scan, rules))))
    parts = [scans[unit.number] for unit in units]
    summary = sum_summaries((one for _, one in parts), rules.splits)
    layout = make_layout(summary, rules, inputs.where)
    sections = {name: [found[name] for found, _ in parts] for name in COUNTED}
    if rules.needs_lookup:
        try:
            merge_whole(sections["groups"])
        except TornGroupError as error:
            raise_torn(error, units, rules)
    distinct = count_distinct(**sections, splits=len(rules.splits))
    return rules, layout, distinct, list(warnings_of(layout, rules, distinct, summary))


def _scan(rules: Rules, unit: SourceUnit) -> tuple[int, tuple[Sections, Summary]]:
    """Scan a file; drop the section that counting does not need."""
    found, summary = scan(unit.windows(rules), rules)
    return unit.number, ({name: found[name] for name in COUNTED}, summary)


def _split_row(split: SplitLayout, recordings: int, groups: int) -> tuple[str, ...]:
    return (
        split.name,
        f"{split.records:,}",
        f"{recordings:,}",
        f"{groups:,}",
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


def _split_data(
    split: SplitLayout, recordings: int, groups: int, epochs: Mapping[int, Epoch | None]
) -> dict[str, JSON]:
    targets = split.targets.stats()
    return {
        "records": split.records,
        "recordings": recordings,
        "groups": groups,
        "labels": dict(sorted(split.labels.items())),
        "targets": None if targets is None else targets.model_dump(mode="json"),
        "shards": split.shards,
        "lanes": split.lanes,
        "bytes": split.bytes,
        "replicas": {
            str(count): None if epoch is None else asdict(epoch) for count, epoch in epochs.items()
        },
    }
