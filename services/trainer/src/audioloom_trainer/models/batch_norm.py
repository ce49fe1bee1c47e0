"""Batch normalisation over the records of a global batch: all of them, and no others.

Keras adds up a batch's moments over the replicas when a layer is told so. But a replica that a
short batch leaves without a record gets one that does not count (see `feed.Batch`), and it would
count here.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import keras
import tensorflow as tf

from audioloom_trainer.errors import BadModel
from audioloom_trainer.models.keras_compat import (
    in_replica,
    is_legacy,
    normalisations,
    synchronise_moments,
)
from audioloom_trainer.models.source import ModelSource

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


def synchronise(
    model: keras.Model, source: ModelSource, shape: Sequence[int], *, replicas: int
) -> int:
    """Let batch normalisation use the moments of the whole global batch.

    Args:
        model: built.
        source: where it comes from, for errors.
        shape: of one window.
        replicas: how many train together.

    Returns:
        How many layers there are to which this applies.

    Raises:
        BadModel: one of several replicas would normalise with a mask, which Keras does not add up.
    """
    layers = normalisations(model)
    masked: list[str] = []
    for layer in layers:
        synchronise_moments(layer, legacy=is_legacy(model))
        if replicas > 1:
            layer.call = _counting(layer.call, layer.name, masked)
    if layers and replicas > 1:
        in_replica(model, lambda: model(tf.zeros((1, *shape)), training=False))
    if masked:
        raise BadModel(
            where=source.place,
            expected="a model that can be trained exactly",
            found=f"the batch normalisation {masked[0]!r} gets a mask, with {replicas} replicas",
            hint="Keras does not add masked moments up over replicas: use LayerNormalization, or"
            " one replica.",
        )
    return len(layers)


def _counting(normalise: Any, name: str, masked: list[str]) -> Any:
    def call(inputs: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("mask") is not None:
            masked.append(name)
        count = getattr(_here, "count", None)
        if count is None:
            return normalise(inputs, *args, **kwargs)
        rows = tf.where(count > 0, tf.shape(inputs)[0], 0)
        outputs = normalise(inputs[:rows], *args, **kwargs)
        # Zeros, not what came in: their loss has no weight, but it has to stay finite.
        return tf.concat([outputs, tf.zeros_like(inputs[rows:], outputs.dtype)], axis=0)

    return call
