"""`inspect` and `report`: show the content of a shards run, and how it was made."""

from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from math import sqrt

import numpy as np
from audioloom_manifest.errors import ManifestError, RecordError
from audioloom_manifest.kinds import ShardsManifest
from audioloom_manifest.reader import Opened, read_manifest, resolve_input
from audioloom_manifest.records.example import Record
from audioloom_runs.cost import cost_facts
from audioloom_runs.pages.report import write_report
from audioloom_runs.pages.shards import shards_sections
from audioloom_runs.tables import facts, size_text, table
from audioloom_stage.escapes import printable
from audioloom_stage.result import JSON, Result
from audioloom_storage import StorageError, open_read

from audioloom_sharder.balance.class_weights import weights_text
from audioloom_sharder.commands.committed_run import run_data
from audioloom_sharder.errors import DamagedRecord
from audioloom_sharder.formats.codec import decode_shard
from audioloom_sharder.rules import Rules
from audioloom_sharder.settings import InspectSettings, ReportSettings
from audioloom_sharder.splits.deviation import SHOWN, deviations, deviations_text
from audioloom_sharder.steps.merge import SHARD_ROLE

_MOST_INPUTS = 100


def inspect(settings: InspectSettings) -> Result:
    """Describe a run; ``--records N`` adds the first N records of each split."""
    opened = read_manifest(settings.run, "shards")
    lineage = list(islice(_lineage(opened), _MOST_INPUTS + 1))
    if len(lineage) > _MOST_INPUTS:
        lineage[-1] = "  …"
    records = {
        name: list(_records(opened, name, settings.records))
        for name in opened.manifest.stats.splits
        if settings.records
    }
    ratios = opened.manifest.recipe.splits
    labels = {name: one.labels for name, one in opened.manifest.stats.splits.items()}
    far = deviations(ratios, labels)
    parts = [_head(opened), _splits(opened)]
    if far:
        parts.append(deviations_text(far))
    if cost := cost_facts(opened.manifest.execution.cost):
        parts.append(facts(cost))
    parts += ["made from\n" + "\n".join(lineage)]
    parts += [_shown(opened, name, some) for name, some in records.items()]
    return Result(
        text="\n\n".join(parts),
        data={
            **run_data(opened),
            "deviations": [asdict(one) for one in far[:SHOWN]],
            "recipe": opened.manifest.recipe.model_dump(mode="json"),
            "execution": opened.manifest.execution.model_dump(mode="json"),
            "inputs": [one.model_dump(mode="json") for one in opened.manifest.inputs],
            "records": {name: [_object(one) for one in some] for name, some in records.items()},
        },
    )


def report(settings: ReportSettings) -> Result:
    """Write a page about a run, from the manifest alone."""
    opened = read_manifest(settings.run, "shards")
    return write_report(opened, shards_sections(opened.manifest), settings.to)


def _head(opened: Opened[ShardsManifest]) -> str:
    manifest = opened.manifest
    recipe = manifest.recipe
    size = f"{recipe.shards} shards" if recipe.shards else f"{size_text(recipe.shard_bytes or 0)}"
    feature = manifest.stats.feature
    labels = manifest.stats.labels
    shown = ", ".join(labels[:12]) + (f" … ({len(labels)})" if len(labels) > 12 else "")  # noqa: PLR2004
    splits = ", ".join(f"{name} {ratio:g}" for name, ratio in recipe.splits.items())
    if recipe.split_pattern or recipe.split_table_sha256:
        splits = recipe.split_pattern or f"by a table ({str(recipe.split_table_sha256)[:12]}…)"
    if recipe.stratify:
        splits += " of each label"
    producer, host = manifest.producer, manifest.execution.host or "an unnamed host"
    lines = {
        "location": str(opened.location),
        "identity": manifest.identity,
        "created": f"{manifest.created:%Y-%m-%d %H:%M} UTC by {producer.stage} {producer.version}"
        f" on {host}",
        "feature": f"{feature.name} {feature.shape[0]} × {feature.shape[1]} {feature.dtype}",
        "labels": shown or "none",
        "shards": recipe.format
        + ("" if recipe.compression == "none" else f", {recipe.compression}"),
        "recipe": f"seed {recipe.seed}, {recipe.lanes} lanes, target {size}, splits {splits},"
        f" target {recipe.target}, ungrouped {recipe.ungrouped}",
    }
    if recipe.resample != "none":
        lines["recipe"] += f", train resampled {recipe.resample}"
    if weights := manifest.stats.class_weights:
        lines["weights"] = weights_text(weights)
    return "\n".join(f"{name:<9} {printable(text)}" for name, text in lines.items())


def _splits(opened: Opened[ShardsManifest]) -> str:
    splits = opened.manifest.stats.splits
    numbers_of = {
        name: f"{one.targets.mean:.4g} ± {sqrt(one.targets.variance):.4g}"
        for name, one in splits.items()
        if one.targets
    }
    head = ["split", "records", "recordings", "groups", "shards", "lanes", "bytes", "labels"]
    head += ["targets"] if numbers_of else []
    rows = [
        (
            name,
            f"{split.records:,}",
            f"{split.recordings:,}",
            f"{split.groups:,}",
            f"{split.shards:,}",
            f"{split.lanes}",
            size_text(split.bytes),
            _label_counts(split.labels),
            *((numbers_of[name],) if numbers_of else ()),
        )
        for name, split in splits.items()
    ]
    return table(head, rows)


def _label_counts(labels: dict[str, int]) -> str:
    some = " ".join(f"{label}={count}" for label, count in islice(labels.items(), 8))
    return f"{some} …" if len(labels) > 8 else some  # noqa: PLR2004


def _lineage(opened: Opened[ShardsManifest]) -> Iterator[str]:
    pending = [(reference, opened.root, 1) for reference in opened.manifest.inputs]
    while pending:
        reference, root, depth = pending.pop(0)
        indent = "  " * depth
        try:
            place = resolve_input(reference, root)
            found = read_manifest(place)
        except (ManifestError, StorageError):
            where = printable(reference.location)
            yield f"{indent}{reference.kind} {reference.name}: not found at {where}"
            continue
        same = found.manifest.identity == reference.identity
        remark = "" if same else " (another identity lies there now)"
        yield f"{indent}{reference.kind} {printable(str(found.folder))}{remark}"
        if same:  # an identity covers those of the inputs, so no run leads back to itself
            pending[:0] = [(each, found.root, depth + 1) for each in found.manifest.inputs]


def _records(opened: Opened[ShardsManifest], split: str, count: int) -> Iterator[Record]:
    """Yield the first records of a split by rank: position by position across the shards."""
    rules = Rules(opened.manifest.recipe, opened.manifest.stats.feature)
    files = sorted(
        (entry for entry in opened.files(SHARD_ROLE) if entry.split == split),
        key=lambda entry: entry.shard or 0,
    )[:count]
    each = -(-count // max(1, len(files)))
    taken: list[list[Record]] = []
    for entry in files:
        where = opened.folder / entry.path
        with open_read(where) as stream:
            try:
                found = decode_shard(rules, stream, entry)
                taken.append([one.record for one in islice(found, each)])
            except RecordError as error:
                raise DamagedRecord(str(error), where=where) from error
    columns = (one[at] for at in range(each) for one in taken if at < len(one))
    yield from islice(columns, count)


def _shown(opened: Opened[ShardsManifest], split: str, records: list[Record]) -> str:
    dtype = Rules(opened.manifest.recipe, opened.manifest.stats.feature).dtype
    rows = []
    for one in records:
        values = np.frombuffer(one.values, dtype=dtype).astype(np.float64)
        rows.append(
            (
                one.path,
                str(one.channel),
                str(one.window),
                one.group,
                f"{one.label} ({one.label_id})",
                "" if one.target is None else f"{one.target:g}",
                str(one.valid_frames),
                f"{values.mean():.3f} ± {values.std():.3f}",
            )
        )
    head = ("path", "channel", "window", "group", "label", "target", "frames", "values")
    return f"{split}\n{table(head, rows)}"


def _object(record: Record) -> dict[str, JSON]:
    return {name: value for name, value in record._asdict().items() if name != "values"}
