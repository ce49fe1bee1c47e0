"""The limit of an exploded loss, far above the losses of ordinary trainings."""

import math

from audioloom_trainer.shards.shard_set import ShardSet

MOST_GROWTH = 1e6


def loss_limit(first: float, shard_set: ShardSet) -> float:
    """Return the largest allowed loss of a batch: a million times the first loss, at least of 1.

    The first batch may lack a class of high weight, so the limit is multiplied by the highest
    weight. It may lack a far target too, so the mean square of all targets counts like a first
    loss. If the shards lack that mean square, the limit is infinite.
    """
    scale = [1.0, abs(first)]
    if shard_set.classes is None:
        targets = [split.targets for split in shard_set.splits.values()]
        scale += [each.variance + each.mean**2 if each else math.inf for each in targets]
    weight = max([1.0, *(shard_set.class_weights or ())])
    return MOST_GROWTH * weight * max(scale)
