"""Batch normalisation over exactly the records of a global batch.

Keras can sum a layer's batch moments over the replicas. But a replica that gets no record of a
short batch gets one that does not count (see `batches.Batch`), and Keras would count it.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import keras
import structlog
import tensorflow as tf

from audioloom_trainer.errors import BadModel
from audioloom_trainer.models.keras_compat import (
    in_replica,
    is_legacy,
    normalisations,
    synchronise_moments,
)

log = structlog.get_logger()

# Each replica of a process is traced in its own thread, and one may pause while another runs.
_here = threading.local()


@contextmanager
def counted_rows(count: Any) -> Iterator[None]:
    """Make synchronised layers ignore all rows if *count*, a scalar tensor, is 0."""
    _here.count = count
    try:
        yield
    finally:
        _here.count = None


def synchronise(model: keras.Model, shape: Sequence[int], *, replicas: int) -> None:
    """Make batch normalisation of windows of a shape use the moments of the whole global batch.

    Raises:
        BadModel: a layer uses a mask with several replicas, whose moments Keras does not sum.
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
            expected="a model that can be trained exactly",
            found=f"the batch normalisation {masked[0]!r} gets a mask, with {replicas} replicas",
            hint="Keras does not add masked moments up over replicas: use LayerNormalization, or"
            " one replica.",
        )
    if layers:
        log.info("batch normalisation is synchronised over the replicas", layers=len(layers))


def _counting(normalise: Any, name: str, masked: list[str]) -> Any:
    def call(inputs: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("mask") is not None:
            masked.append(name)
        count = getattr(_here, "count", None)
        if count is None:
            return normalise(inputs, *args, **kwargs)
        rows = tf.where(count > 0, tf.shape(inputs)[0], 0)
        outputs = normalise(inputs[:rows], *args, **kwargs)
        # Zeros instead of the inputs: the loss of these rows has no weight but must be finite.
        return tf.concat([outputs, tf.zeros_like(inputs[rows:], outputs.dtype)], axis=0)

    return call
