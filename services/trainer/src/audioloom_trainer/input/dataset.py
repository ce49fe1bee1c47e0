"""Batches as tensors, passed to TensorFlow ahead of the steps that compute on them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from audioloom_trainer.input.batches import Batch
from audioloom_trainer.shards.shard_set import ShardSet

_PREFETCH = 8


@dataclass
class BatchStream:
    """Batches as tensors; the next batch is passed to TensorFlow while a step computes.

    Passing a batch takes 0.1 to 0.2 ms, a tenth of a small network's step.
    """

    iterator: Any
    """Of TensorFlow's; after the last batch comes one that nobody computes on."""
    batch: tuple[Any, ...] | None = None
    """The one in hand; None before the first."""


def stream(batches: Iterator[Batch], steps: int, shard_set: ShardSet) -> BatchStream:
    """Make a stream of so many batches of shards, which a thread of TensorFlow fills ahead.

    `Dataset.from_generator` is not used: as of TensorFlow 2.21 it makes malloc return every batch's
    memory to the system, in the whole process, and feeding took four times as long.
    """
    signature = (
        tf.TensorSpec((None, *shard_set.shape), shard_set.dtype),
        tf.TensorSpec((None,), shard_set.target_dtype),
        tf.TensorSpec((None,), tf.int32),
        tf.TensorSpec((None,), tf.int32),
        tf.TensorSpec((), tf.float32),
    )

    def take(step: Any) -> Batch:
        batch = next(batches)
        if step == steps - 1:  # let the generator end and release its shards
            next(batches, None)
        return batch

    def taken(step: Any) -> Any:
        tensors = tf.numpy_function(take, [step], [spec.dtype for spec in signature])
        for tensor, spec in zip(tensors, signature, strict=True):
            tensor.set_shape(spec.shape)
        return tuple(tensors)

    options = tf.data.Options()
    options.autotune.enabled = False  # nothing to tune, and ending its thread can take 1 s
    options.threading.private_threadpool_size = 1  # or it waits for the step's threads
    blank = tuple(tf.zeros([size or 0 for size in spec.shape], spec.dtype) for spec in signature)
    dataset = tf.data.Dataset.range(steps).map(taken)
    dataset = dataset.concatenate(tf.data.Dataset.from_tensors(blank)).prefetch(_PREFETCH)
    return BatchStream(iter(dataset.with_options(options)))
