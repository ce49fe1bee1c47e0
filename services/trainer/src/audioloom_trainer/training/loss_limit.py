"""From where on a loss has exploded: a plain rule, which ordinary trainings do not come near."""

import math

from audioloom_trainer.shards.shard_set import ShardSet

MOST_GROWTH = 1e6


def loss_limit(first: float, shard_set: ShardSet) -> float:
    """What the loss of a batch may be: a million times that of the first one, or of 1.

    The first may not have met what later ones do: so a class that weighs more counts as such, and
    where numbers are learned, one that is far from all others: the mean square of all targets
    counts like a first loss. Where the shards do not say it, nothing is too much.
    """
    scale = [1.0, abs(first)]
    if shard_set.classes is None:
        targets = [split.targets for split in shard_set.splits.values()]
        scale += [each.variance + each.mean**2 if each else math.inf for each in targets]
    weight = max([1.0, *(shard_set.class_weights or ())])
    return MOST_GROWTH * weight * max(scale)
