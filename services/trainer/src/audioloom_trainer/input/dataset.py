"""Batches as tensors, handed to TensorFlow ahead of the steps that compute on them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from audioloom_trainer.input.batches import Batch

_PREFETCH = 8


@dataclass
class BatchStream:
    """Batches as tensors. While a step computes on one, the next is handed over.

    TensorFlow takes 0.1 to 0.2 ms for that, which is a tenth of a light network's step.
    """

    iterator: Any
    """Of TensorFlow's; after the last batch comes one that nobody computes on."""
    batch: tuple[Any, ...] | None = None
    """The one in hand; None before the first."""


def stream(
    batches: Iterator[Batch], steps: int, shape: tuple[int, ...], dtype: str, *, numbers: bool
) -> BatchStream:
    """A stream of *batches*, filled ahead by a thread of TensorFlow's.

    `Dataset.from_generator` would do the same, but lets malloc give every batch's memory back to
    the system (as of TensorFlow 2.21), for the whole process: feeding took four times as long.

    Args:
        batches: what is read, to its end.
        steps: how many there are.
        shape: of one window.
        dtype: of the features as they lie in the shards.
        numbers: targets are numbers (float32), not classes (int32).
    """
    signature = (
        tf.TensorSpec((None, *shape), dtype),
        tf.TensorSpec((None,), tf.float32 if numbers else tf.int32),
        tf.TensorSpec((None,), tf.int32),
        tf.TensorSpec((None,), tf.int32),
        tf.TensorSpec((), tf.float32),
    )

    def take(step: Any) -> Batch:
        batch = next(batches)
        if step == steps - 1:  # let it end, and with it let go of what it holds
            next(batches, None)
        return batch

    def taken(step: Any) -> Any:
        tensors = tf.numpy_function(take, [step], [spec.dtype for spec in signature])
        for tensor, spec in zip(tensors, signature, strict=True):
            tensor.set_shape(spec.shape)
        return tuple(tensors)

    options = tf.data.Options()
    options.autotune.enabled = False  # there is nothing to tune, and to end its thread can take 1 s
    options.threading.private_threadpool_size = 1  # else it waits for the step's threads
    blank = tuple(tf.zeros([size or 0 for size in spec.shape], spec.dtype) for spec in signature)
    dataset = tf.data.Dataset.range(steps).map(taken)
    dataset = dataset.concatenate(tf.data.Dataset.from_tensors(blank)).prefetch(_PREFETCH)
    return BatchStream(iter(dataset.with_options(options)))
