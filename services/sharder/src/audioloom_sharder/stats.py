"""The stats of a shards manifest: all that a trainer needs to count its steps."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from audioloom_manifest import Receipt, ShardFeature, ShardsStats, SplitStats

from audioloom_sharder.layout import Layout
from audioloom_sharder.merging import SHARD_ROLE, shard_units
from audioloom_sharder.moments import Moments, summed
from audioloom_sharder.ranking import Counted
from audioloom_sharder.rows import Rules, to_manifest

__all__ = ["stats_of"]


def stats_of(
    layout: Layout,
    rules: Rules,
    counted: Counted,
    receipts: Sequence[Receipt],
    left_out: Mapping[str, int],
) -> ShardsStats:
    """The stats of a finished run; bytes are those of the files as written."""
    size: Counter[str] = Counter()
    moments: dict[str, list[Moments]] = defaultdict(list)
    for unit, receipt in zip(shard_units(layout), receipts, strict=True):
        name = layout.splits[unit.split].name
        size[name] += sum(entry.bytes for entry in receipt.files if entry.role == SHARD_ROLE)
        moments[name].append(Moments.from_json(receipt.counts["moments"]))
    feature = rules.feature
    return ShardsStats(
        feature=ShardFeature(name=feature.name, dtype=feature.dtype, shape=feature.shape),
        labels=layout.labels,
        left_out=dict(sorted(left_out.items())),
        class_weights=layout.class_weights,
        resampling=to_manifest(rules.resampling),
        splits={
            split.name: SplitStats(
                records=split.records,
                shards=split.shards,
                lanes=split.lanes,
                bytes=size[split.name],
                recordings=counted.recordings[number],
                groups=counted.groups[number],
                labels=split.labels,
                coefficients=summed(moments[split.name], feature.shape[0]).stats(),
                targets=split.targets.stats(),
            )
            for number, split in enumerate(layout.splits)
        },
    )
