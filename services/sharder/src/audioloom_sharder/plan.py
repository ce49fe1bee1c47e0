"""`plan`: what `run` would write, and what it would mean for training, without writing anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from operator import attrgetter

import numpy as np
from audioloom_manifest import Plan, find_committed, root_of
from audioloom_stage import JSON, Result, progress
from numpy.typing import NDArray

from audioloom_sharder.asking import ask, rules_of, sizes_of
from audioloom_sharder.assignment import divisors, replica_records, steps_per_epoch
from audioloom_sharder.engine import engine
from audioloom_sharder.features import read_identities
from audioloom_sharder.inputs import Source, open_inputs
from audioloom_sharder.layout import Layout, SplitLayout, lay_out
from audioloom_sharder.notes import notes
from audioloom_sharder.ranking import Counted, count_distinct
from audioloom_sharder.rows import Rules
from audioloom_sharder.scan import Summary, scan, summed
from audioloom_sharder.settings import PlanSettings
from audioloom_sharder.tables import bytes_text, table
from audioloom_sharder.thresholds import resampled
from audioloom_sharder.weights import weights_text

__all__ = ["Epoch", "epoch_of", "plan"]


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
    notes: tuple[str, ...]


def plan(settings: PlanSettings) -> Result:
    """Scan the inputs and show the splits, shards and steps that would come of them."""
    settings.check_configured()
    inputs = open_inputs(settings.features)
    asked = ask(settings, inputs)
    committed = find_committed(asked) is not None
    asked_rules, sizes = rules_of(settings, inputs.feature), sizes_of(settings)
    looked: list[_Looked] = []
    with engine(settings, root_of(asked.folder)) as run_units:
        rules = resampled(asked_rules, inputs.sources, run_units)
        task, reads = partial(_look, rules), attrgetter("location")
        with progress(len(inputs.sources), "scanning", "files") as bar:
            looked.extend(bar.over(run_units(inputs.sources, task, reads)))
    summary = summed((one.summary for one in looked), (share.split for share in rules.shares))
    layout = lay_out(summary, rules, sizes, where=inputs.where)
    counted = _count(looked, len(rules.shares))
    epochs = {
        split.name: {
            count: epoch_of(split, count, settings.batch_size) for count in settings.replica_counts
        }
        for split in layout.splits
    }
    said = tuple(notes(layout, rules, sizes, counted, summary.left_out))
    planned = _Planned(asked, committed, layout, counted, epochs, settings.batch_size, said)
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


def _look(rules: Rules, source: Source) -> _Looked:
    found = scan(read_identities(source, rules.feature), rules)
    return _Looked(found.summary, {name: found.sections[name] for name in _COUNTED})


_COUNTED = ("groups", "recordings", "contents")


def _count(looked: Sequence[_Looked], splits: int) -> Counted:
    parts = [[one.sections[name] for one in looked] for name in _COUNTED]
    return count_distinct(parts[0], parts[1], parts[2], splits=splits)


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
        "\n".join(f"note: {note}" for note in planned.notes),
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
        bytes_text(split.bytes),
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
        bytes_text(epoch.bytes),
    )


def _span(least: int, most: int) -> str:
    return f"{most:,}" if least == most else f"{least:,} or {most:,}"


def _data(planned: _Planned) -> dict[str, JSON]:
    splits: dict[str, JSON] = {}
    for number, split in enumerate(planned.layout.splits):
        splits[split.name] = {
            "records": split.records,
            "recordings": planned.counted.recordings[number],
            "groups": planned.counted.groups[number],
            "labels": dict(split.labels),
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
        "notes": list(planned.notes),
    }
