"""The stats of a shards manifest: all that a trainer needs to count its steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from audioloom_manifest import FileEntry, ShardFeature, ShardsStats, SplitStats

from audioloom_sharder.layout import Layout
from audioloom_sharder.merging import SHARD_ROLE
from audioloom_sharder.ranking import Counted
from audioloom_sharder.rows import Rules

__all__ = ["stats_of"]


def stats_of(
    layout: Layout, rules: Rules, counted: Counted, files: Sequence[FileEntry]
) -> ShardsStats:
    """The stats of a finished run; bytes are those of the files as written."""
    size: Counter[str] = Counter()
    for entry in files:
        if entry.role == SHARD_ROLE and entry.split is not None:
            size[entry.split] += entry.bytes
    feature = rules.feature
    return ShardsStats(
        feature=ShardFeature(name=feature.name, dtype=feature.dtype, shape=feature.shape),
        labels=layout.labels,
        splits={
            split.name: SplitStats(
                records=split.records,
                shards=split.shards,
                lanes=split.lanes,
                bytes=size[split.name],
                recordings=counted.recordings[number],
                groups=counted.groups[number],
                labels=split.labels,
            )
            for number, split in enumerate(layout.splits)
        },
    )
