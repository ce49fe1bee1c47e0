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


def claimed_copies(opened: Opened[ShardsManifest]) -> dict[str, LabelCopies] | None:
    """Return the copies of each label in the stats; None also without a split to train on."""
    recipe, stats = opened.manifest.recipe, opened.manifest.stats
    # The recipe names no splits if a pattern or a table does.
    is_named = not recipe.splits or recipe.splits.keys() == stats.splits.keys()
    return stats.resampling if is_named and _training_stats(stats) else None


def check_resampling(opened: Opened[ShardsManifest], offered: Mapping[str, int]) -> Iterator[str]:
    """Check that every label has as many records as the rarest or the commonest of *offered*."""
    stats, way = opened.manifest.stats, opened.manifest.recipe.resample
    trained = _training_stats(stats)
    if stats.resampling is None or not offered or trained is None:
        return
    aim = min(offered.values()) if way == "under" else max(offered.values())
    if (found := trained.labels) != dict.fromkeys(offered, aim):
        yield f"resampling: expected {aim:,} records of each label, found {found}"


def check_label_stats(opened: Opened[ShardsManifest]) -> Iterator[str]:
    """Yield contradictions between the manifest and its list of files, one sentence each."""
    recipe, stats = opened.manifest.recipe, opened.manifest.stats
    for name, split in stats.splits.items():
        counts = [one.labels for one in opened.files(SHARD_ROLE) if one.split == name]
        total = sum((Counter(one) for one in counts), Counter[str]())
        if None not in counts and total != split.labels:  # with very many labels there are none
            yield (
                f"split {name}: expected {split.labels} records of each label, found"
                f" {dict(total)} in the list of files"
            )
    trained = _training_stats(stats)
    labels = trained.labels if trained else {}
    found = stats.class_weights or {}
    expected = weights_of(recipe.class_weights, labels) or {}
    if expected.keys() != found.keys() or not all(
        isclose(weight, found[label], rel_tol=1e-9) for label, weight in expected.items()
    ):
        yield f"class weights: expected {expected} from the recipe and the counts, found {found}"
    if (recipe.resample != "none") != (stats.resampling is not None):
        yield f"resampling: the recipe says {recipe.resample}, and the stats say otherwise"
    if recipe.resample != "none" and (trained is None or len({*labels.values()}) > 1):
        shown = labels if trained else "no split to train on"
        yield f"resampling: expected as many records of each label, found {shown}"


def _training_stats(stats: ShardsStats) -> SplitStats | None:
    try:
        return stats.splits[training_split(tuple(stats.splits))]
    except InvalidOption:
        return None
