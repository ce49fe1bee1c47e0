"""Check the labels of a shards manifest: sums over the shards, weights and resampling."""

from collections import Counter
from collections.abc import Iterator, Mapping
from math import isclose

from audioloom_manifest.kinds import LabelCopies, ShardsManifest, ShardsStats, SplitStats
from audioloom_manifest.reader import Opened

from audioloom_sharder.balance.class_weights import weights_of
from audioloom_sharder.errors import InvalidOption
from audioloom_sharder.splits.ratios import training_split
from audioloom_sharder.steps.merge import SHARD_ROLE


def check_label_stats(opened: Opened[ShardsManifest]) -> Iterator[str]:
    """Yield contradictions between the manifest and its list of files, one sentence each."""
    yield from _sums(opened)
    yield from _weights(opened)
    yield from _resampled(opened)


def claimed_copies(opened: Opened[ShardsManifest]) -> dict[str, LabelCopies] | None:
    """Return the copies of each label in the stats; None also without a split to train on."""
    manifest = opened.manifest
    known = (
        _training_stats(manifest.stats)
        and manifest.recipe.splits.keys() == manifest.stats.splits.keys()
    )
    return manifest.stats.resampling if known else None


def check_resampling(opened: Opened[ShardsManifest], offered: Mapping[str, int]) -> Iterator[str]:
    """Check that every label has as many records as the rarest or the commonest label.

    Args:
        opened: the run.
        offered: windows of each label in the features of the training split.
    """
    stats, way = opened.manifest.stats, opened.manifest.recipe.resample
    trained = _training_stats(stats)
    if stats.resampling is None or not offered or trained is None:
        return
    aim = min(offered.values()) if way == "under" else max(offered.values())
    if (found := trained.labels) != dict.fromkeys(offered, aim):
        yield f"resampling: expected {aim:,} records of each label, found {found}"


def _resampled(opened: Opened[ShardsManifest]) -> Iterator[str]:
    """Check that a requested resampling took place and made all labels equally frequent."""
    stats, way = opened.manifest.stats, opened.manifest.recipe.resample
    if (way != "none") != (stats.resampling is not None):
        yield f"resampling: the recipe says {way}, and the stats say otherwise"
    trained = _training_stats(stats)
    if way != "none" and (trained is None or len({*trained.labels.values()}) > 1):
        found = trained.labels if trained else "no split to train on"
        yield f"resampling: expected as many records of each label, found {found}"


def _training_stats(stats: ShardsStats) -> SplitStats | None:
    try:
        return stats.splits[training_split(tuple(stats.splits))]
    except InvalidOption:
        return None


def _sums(opened: Opened[ShardsManifest]) -> Iterator[str]:
    """Check the label counts of each shard; runs with very many labels have none."""
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


def _weights(opened: Opened[ShardsManifest]) -> Iterator[str]:
    stats = opened.manifest.stats
    found = stats.class_weights or {}
    trained = _training_stats(stats)
    expected = (
        weights_of(opened.manifest.recipe.class_weights, trained.labels if trained else {}) or {}
    )
    same = expected.keys() == found.keys() and all(
        isclose(expected[label], found[label], rel_tol=1e-9) for label in expected
    )
    if not same:
        yield f"class weights: expected {expected} from the recipe and the counts, found {found}"
