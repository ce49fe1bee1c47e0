"""Batch normalisation over the records of a global batch: all of them, and no others.

Keras adds up a batch's moments over the replicas when a layer is told so. But a replica that a
short batch leaves without a record gets one that does not count (see `feed.Batch`), and here it
would count.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import keras
import tensorflow as tf

__all__ = ["counted_rows", "is_masked", "synchronise"]

# Each replica of a process is traced in a thread of its own, and one may pause inside another.
_here = threading.local()


@contextmanager
def counted_rows(count: Any) -> Iterator[None]:
    """Inside, synchronised layers leave all rows out when *count*, a scalar tensor, is 0."""
    _here.count = count
    try:
        yield
    finally:
        _here.count = None


def synchronise(layer: keras.layers.BatchNormalization) -> None:
    """Let a layer normalise with the moments of the rows that count, of all replicas."""
    layer.synchronized = True
    normalise = layer.call
    layer.audioloom_masked = False

    def call(inputs: Any, *args: Any, **kwargs: Any) -> Any:
        layer.audioloom_masked |= kwargs.get("mask") is not None
        count = getattr(_here, "count", None)
        if count is None:
            return normalise(inputs, *args, **kwargs)
        rows = tf.where(count > 0, tf.shape(inputs)[0], 0)
        outputs = normalise(inputs[:rows], *args, **kwargs)
        # Zeros, not what came in: their loss has no weight, but it has to stay finite.
        return tf.concat([outputs, tf.zeros_like(inputs[rows:], outputs.dtype)], axis=0)

    layer.call = call


def is_masked(layer: keras.layers.BatchNormalization) -> bool:
    """Whether a synchronised layer was ever called with a mask, which Keras does not add up."""
    return bool(layer.audioloom_masked)
