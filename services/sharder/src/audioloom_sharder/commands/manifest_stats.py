"""The stats of a shards manifest, from which a trainer counts its steps."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from audioloom_manifest import LabelCopies, Receipt, ShardFeature, ShardsStats, SplitStats

from audioloom_sharder.balance.resampling import Copies
from audioloom_sharder.sharding.layout import Layout
from audioloom_sharder.sharding.ranking import DistinctCounts
from audioloom_sharder.statistics.coefficients import CoefficientSums
from audioloom_sharder.steps.merge import SHARD_ROLE, shard_units
from audioloom_sharder.windows.rules import Rules


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
        coefficients[name] += CoefficientSums.from_json(receipt.counts["moments"])
    feature = rules.schema.feature
    return ShardsStats(
        feature=ShardFeature(name=feature.name, dtype=feature.dtype, shape=feature.shape),
        labels=layout.labels,
        excluded=dict(sorted(excluded.items())),
        class_weights=layout.class_weights,
        resampling=None if rules.resampling is None else _copies(rules.resampling),
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


def _copies(resampling: Mapping[str, Copies]) -> dict[str, LabelCopies]:
    return {
        label: LabelCopies(copies=one.whole, one_more_below=one.threshold)
        for label, one in resampling.items()
    }
