"""Score splits in this process alone: what `evaluate` does once and `evaluate --follow` again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle

import keras
import tensorflow as tf

from audioloom_trainer.distributed.cluster import Cluster
from audioloom_trainer.evaluation.scoring import Scoring
from audioloom_trainer.input.batches import Replicas, needed_shards
from audioloom_trainer.input.cache_folder import open_cache
from audioloom_trainer.input.staging import Staging
from audioloom_trainer.settings import EvaluateSettings
from audioloom_trainer.shards.shard_set import ShardSet, Split


@contextmanager
def local_scoring(
    settings: EvaluateSettings,
    model: keras.Model,
    shard_set: ShardSet,
    splits: Sequence[Split],
    *,
    again: bool = False,
) -> Iterator[Scoring]:
    """What scores the splits, while their shards are brought in ahead of need.

    Args:
        settings: the cache and the batch.
        model: built and compiled; its weights may change between two times.
        shard_set: what the splits belong to.
        splits: to be scored in this order.
        again: more than once; shards are kept for the next time, as far as the cache has room.
    """
    alone, batch = Replicas(), settings.batch_size
    once = [shard for split in splits for shard in needed_shards(split, None, alone, batch=batch)]
    needed = cycle(once) if again else once
    limit = settings.cache_bytes
    with (
        open_cache(shard_set, settings.cache, limit) as cache,
        Staging(shard_set, needed, cache=cache) as staging,
    ):
        yield Scoring(
            strategy=tf.distribute.get_strategy(),
            model=model,
            cluster=Cluster(),
            replicas=alone,
            shard_set=shard_set,
            staging=staging,
            batch=batch,
        )
