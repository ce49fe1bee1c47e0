"""The stats of a shards manifest, from which a trainer counts its steps."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from audioloom_manifest.kinds import ShardsStats, SplitStats
from audioloom_manifest.receipts import Receipt

from audioloom_sharder.rules import Rules
from audioloom_sharder.sharding.layout import Layout
from audioloom_sharder.sharding.ranking import DistinctCounts
from audioloom_sharder.statistics.coefficients import COEFFICIENT_SUMS, CoefficientSums
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
