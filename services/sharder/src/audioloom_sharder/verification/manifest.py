"""What a shards manifest claims of its labels: sums over the shards, and what follows of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from math import isclose

from audioloom_manifest import Opened, ShardsManifest, ShardsStats, SplitStats

from audioloom_sharder.balance.class_weights import weights_of
from audioloom_sharder.balance.resampling import Copies
from audioloom_sharder.errors import BadSplit
from audioloom_sharder.splits.ratios import trained_split
from audioloom_sharder.steps.merge import SHARD_ROLE
from audioloom_sharder.windows.rules import Rules


def label_claims(opened: Opened[ShardsManifest], rules: Rules) -> Iterator[str]:
    """What of the manifest and its list of files does not agree with itself, a sentence each."""
    yield from _sums(opened)
    yield from _weights(opened, rules)
    yield from _resampled(opened)


def claimed_copies(opened: Opened[ShardsManifest]) -> dict[str, Copies] | None:
    """How often windows are to be there; None also where it cannot be said of which split."""
    manifest = opened.manifest
    known = (
        _trained(manifest.stats) and manifest.recipe.splits.keys() == manifest.stats.splits.keys()
    )
    stats = manifest.stats.resampling
    if stats is None or not known:
        return None
    return {label: Copies(one.copies, int(one.one_more_below, 16)) for label, one in stats.items()}


def resampling_claims(opened: Opened[ShardsManifest], offered: Mapping[str, int]) -> Iterator[str]:
    """Whether the labels were brought to the count of the rarest, or of the commonest.

    Args:
        opened: the run.
        offered: windows of each label that the features hold of the training split.
    """
    stats, way = opened.manifest.stats, opened.manifest.recipe.resample
    trained = _trained(stats)
    if stats.resampling is None or not offered or trained is None:
        return
    aim = min(offered.values()) if way == "under" else max(offered.values())
    if (found := trained.labels) != dict.fromkeys(offered, aim):
        yield f"resampling: expected {aim:,} records of each label, found {found}"


def _resampled(opened: Opened[ShardsManifest]) -> Iterator[str]:
    """Present when asked for, and all labels equally often."""
    stats, way = opened.manifest.stats, opened.manifest.recipe.resample
    if (way != "none") != (stats.resampling is not None):
        yield f"resampling: the recipe says {way}, and the stats say otherwise"
    trained = _trained(stats)
    if way != "none" and (trained is None or len({*trained.labels.values()}) > 1):
        found = trained.labels if trained else "no split to train on"
        yield f"resampling: expected as many records of each label, found {found}"


def _trained(stats: ShardsStats) -> SplitStats | None:
    """The split that is trained on, if there is one."""
    try:
        return stats.splits[trained_split(tuple(stats.splits))]
    except BadSplit:
        return None


def _sums(opened: Opened[ShardsManifest]) -> Iterator[str]:
    """The list of files counts the labels shard by shard, unless there are very many."""
    for name, stats in opened.manifest.stats.splits.items():
        counts = [one.labels for one in opened.files(SHARD_ROLE) if one.split == name]
        total: Counter[str] = Counter()
        for one in counts:
            total.update(one or {})
        if None not in counts and total != stats.labels:
            yield (
                f"split {name}: expected {stats.labels} records of each label, found"
                f" {dict(total)} in the list of files"
            )


def _weights(opened: Opened[ShardsManifest], rules: Rules) -> Iterator[str]:
    stats = opened.manifest.stats
    found = stats.class_weights or {}
    trained = _trained(stats)
    expected = weights_of(rules.weights, trained.labels if trained else {}) or {}
    same = expected.keys() == found.keys() and all(
        isclose(expected[label], found[label], rel_tol=1e-9) for label in expected
    )
    if not same:
        yield f"class weights: expected {expected} from the recipe and the counts, found {found}"
