"""What a shards manifest claims of its labels: sums over the shards, and what follows of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import isclose

from audioloom_manifest import Opened, ShardsManifest

from audioloom_sharder.errors import BadSplit
from audioloom_sharder.merging import SHARD_ROLE
from audioloom_sharder.rows import Rules
from audioloom_sharder.splits import trained_split
from audioloom_sharder.weights import weights_of

__all__ = ["label_claims"]


def label_claims(opened: Opened[ShardsManifest], rules: Rules) -> Iterator[str]:
    """What of the manifest and its list of files does not agree with itself, a sentence each."""
    yield from _sums(opened)
    yield from _weights(opened, rules)


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
    try:
        counts = stats.splits[trained_split(tuple(stats.splits))].labels if rules.weights else {}
    except BadSplit as error:
        yield f"class weights: {error}"
        return
    expected = weights_of(rules.weights, counts) or {}
    same = expected.keys() == found.keys() and all(
        isclose(expected[label], found[label], rel_tol=1e-9) for label in expected
    )
    if not same:
        yield f"class weights: expected {expected} from the recipe and the counts, found {found}"
