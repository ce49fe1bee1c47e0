"""Whether a model says probabilities where its loss takes what it says for probabilities.

Keras does not look: it clips or rescales what is none, and a network without a softmax is trained
on numbers that mean nothing.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import tensorflow as tf

from audioloom_trainer.models.keras_compat import from_logits, is_legacy, library

_LOSSES = {
    "BinaryCrossentropy": "binary_crossentropy",
    "BinaryFocalCrossentropy": "binary_focal_crossentropy",
    "CategoricalCrossentropy": "categorical_crossentropy",
    "CategoricalFocalCrossentropy": "categorical_focal_crossentropy",
    "SparseCategoricalCrossentropy": "sparse_categorical_crossentropy",
}
"""Losses on probabilities, as classes and as functions; of a Categorical one they add up to 1."""

_TOLERANCE, _TOLERANCE_OF_HALVES = 1e-3, 5e-2


def improper(model: Any, predictions: Any) -> Any:
    """How many records have outputs that are no probabilities, though the loss wants some.

    Args:
        model: whose loss tells what its outputs are.
        predictions: the outputs, (records, outputs).

    Returns:
        float32 (); always 0 where the loss takes logits, or is one that only its author knows.
    """
    name = None if from_logits(model) else _name(model)
    if name is None:
        return tf.zeros(())
    tolerance = _TOLERANCE if predictions.dtype.size >= tf.float32.size else _TOLERANCE_OF_HALVES
    said = tf.cast(predictions, tf.float32)
    proper = tf.reduce_all((said >= -tolerance) & (said <= 1.0 + tolerance), axis=-1)
    if "Categorical" in name:
        proper &= tf.abs(tf.reduce_sum(said, axis=-1) - 1.0) <= tolerance
    return tf.reduce_sum(tf.cast(~proper, tf.float32))


def _name(model: Any) -> str | None:
    """Which of Keras's losses on probabilities the model's is: by name, as object or function."""
    losses = library(legacy=is_legacy(model)).losses
    loss = losses.get(model.loss) if isinstance(model.loss, str) else model.loss
    if isinstance(loss, partial):
        loss = loss.func
    for name, function in _LOSSES.items():
        kind = getattr(losses, name)
        if loss in (kind, getattr(losses, function)) or isinstance(loss, kind):
            return name
    return None
