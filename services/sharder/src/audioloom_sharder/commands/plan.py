"""`plan`: what `run` would write, and what it would mean for training, without writing anything."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial

import numpy as np
from audioloom_manifest import Plan, find_committed, root_of
from audioloom_runs.tables import size_text, table
from audioloom_stage import JSON, Result, printable, progress
from numpy.typing import NDArray

from audioloom_sharder.balance.class_weights import weights_text
from audioloom_sharder.commands.tables import deviations_text
from audioloom_sharder.commands.warnings import notes
from audioloom_sharder.inputs.manifests import open_inputs
from audioloom_sharder.inputs.reader import read_identities
from audioloom_sharder.io.executor import engine
from audioloom_sharder.recipe import (
    ask,
    open_given,
    packing_of,
    recipe_of,
    rules_of,
    sizes_of,
)
from audioloom_sharder.settings import PlanSettings
from audioloom_sharder.sharding.assignment import divisors, replica_records, steps_per_epoch
from audioloom_sharder.sharding.layout import Layout, SplitLayout, lay_out
from audioloom_sharder.sharding.ranking import Counted, count_distinct
from audioloom_sharder.splits.deviation import SHOWN, Deviation, deviations
from audioloom_sharder.splits.groups_file import merged
from audioloom_sharder.splits.ratios import recorded
from audioloom_sharder.steps.decide_splits import place_in_memory
from audioloom_sharder.steps.groups import check_whole
from audioloom_sharder.steps.resample import resampled
from audioloom_sharder.verification.lineage import Unit, location_of
from audioloom_sharder.windows.metadata_scan import Looked, Summary, look, scan, summed
from audioloom_sharder.windows.rules import Rules


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
class _Looked:
    """A scanned file without its windows: what counting needs."""

    summary: Summary
    sections: dict[str, NDArray[np.void]]


@dataclass(frozen=True)
class _Planned:
    """All that a plan tells."""

    asked: Plan
    committed: bool
    layout: Layout
    counted: Counted
    epochs: dict[str, dict[int, Epoch | None]]
    batch: int
    deviations: list[Deviation]
    notes: list[str]


def plan(settings: PlanSettings) -> Result:
    """Scan the inputs and show the splits, shards and steps that would come of them."""
    settings.check_configured()
    inputs = open_inputs(settings.features)
    given = open_given(settings, inputs)
    asked = ask(settings, inputs, given)
    committed = find_committed(asked) is not None
    recipe, sizes = recipe_of(settings, given), sizes_of(settings)
    asked_rules = rules_of(recipe, inputs, given)
    looked: dict[int, _Looked] = {}
    with engine(settings, root_of(asked.folder)) as run_units:
        sources = inputs.sources
        rules, placed = place_in_memory(sources, asked_rules, given, inputs.where, run_units)
        units: list[Unit] = list(zip(range(len(sources)), sources, placed, strict=True))
        rules = resampled(rules, units, partial(_windows, rules), location_of, run_units)
        with progress(len(units), "scanning", "files") as bar:
            looked.update(bar.over(run_units(units, partial(_look, rules), location_of)))
    parts = [looked[number] for number in range(len(sources))]
    summary = summed((one.summary for one in parts), rules.policy.splits)
    layout = lay_out(summary, rules, sizes, where=inputs.where)
    sections = {name: [one.sections[name] for one in parts] for name in _COUNTED}
    if rules.policy.looked_up:
        groups = sections["groups"]
        check_whole(merged(groups), groups, sources, rules, placed.__getitem__)
    counted = count_distinct(
        sections["groups"],
        sections["recordings"],
        sections["contents"],
        splits=len(rules.policy.splits),
    )
    epochs = {
        split.name: {
            count: epoch_of(split, count, settings.batch_size) for count in settings.replica_counts
        }
        for split in layout.splits
    }
    said = list(notes(layout, rules, sizes, counted, summary))
    if not packing_of(recipe).is_plain:
        said.append("bytes are those of TFRecord without compression; files will have others")
    far = deviations(recorded(rules.policy.shares), {one.name: one.labels for one in layout.splits})
    planned = _Planned(asked, committed, layout, counted, epochs, settings.batch_size, far, said)
    return Result(text=_text(planned), data=_data(planned))


def epoch_of(split: SplitLayout, replicas: int, batch: int) -> Epoch | None:
    """The epoch of *split* on *replicas*, or None when they do not divide its lanes."""
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


def _windows(rules: Rules, unit: Unit) -> Looked:
    _, source, placed = unit
    return look(read_identities(source, rules.schema.feature), rules, placed)


def _look(rules: Rules, unit: Unit) -> tuple[int, _Looked]:
    number, source, placed = unit
    found = scan(read_identities(source, rules.schema.feature), rules, placed)
    return number, _Looked(found.summary, {name: found.sections[name] for name in _COUNTED})


_COUNTED = ("groups", "recordings", "contents")


def _text(planned: _Planned) -> str:
    layout = planned.layout
    verb = "committed already:" if planned.committed else "would write"
    parts = [
        f"{verb} {layout.records:,} records in {layout.shards:,} shards, {planned.asked.folder}",
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
        "\n".join(f"note: {printable(note)}" for note in planned.notes),
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
        "name": planned.asked.name,
        "folder": planned.asked.folder.uri,
        "committed": planned.committed,
        "labels": list(planned.layout.labels),
        "class_weights": planned.layout.class_weights,
        "batch_size": planned.batch,
        "splits": splits,
        "deviations": [asdict(one) for one in planned.deviations[:SHOWN]],
        "notes": [*planned.notes],
    }
