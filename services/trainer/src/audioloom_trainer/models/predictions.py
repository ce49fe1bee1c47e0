"""Turn a model's outputs into predictions for each record, and check for probabilities."""

from functools import partial
from typing import Any

import keras
import tensorflow as tf

from audioloom_trainer.models.keras_compat import from_logits, is_legacy, library

# Keras's lower limit of a probability.
_EPSILON = 1e-7


def class_scores(model: keras.Model, outputs: Any, classes: int) -> Any:
    """Return one column a class; a single output for two classes belongs to class 1."""
    if outputs.shape[-1] == classes:
        return outputs
    logits = from_logits(model)
    return tf.concat([tf.zeros_like(outputs) if logits else 1.0 - outputs, outputs], axis=1)


def record_predictions(model: keras.Model, y: Any, predictions: Any, classes: int) -> Any:
    """Return one row a record, with the columns of `scores.PREDICTION`: float32 (records, 4).

    The true classes are int32 (records,), the predictions (records, classes), or (records, 1) for
    two classes. Loss and confidence are NaN if the outputs are no probabilities.
    """
    logits = from_logits(model)
    outputs = class_scores(model, tf.cast(predictions, tf.float32), classes)
    predicted = tf.argmax(outputs, axis=1, output_type=tf.int32)
    logs = tf.nn.log_softmax(outputs if logits else tf.math.log(tf.maximum(outputs, _EPSILON)))
    if not logits:
        sensible = tf.reduce_all((outputs >= 0.0) & (outputs <= 1.0 + 1e-3), axis=1, keepdims=True)
        logs = tf.where(sensible, logs, float("nan"))
    loss = -tf.gather(logs, y, batch_dims=1)
    confidence = tf.exp(tf.gather(logs, predicted, batch_dims=1))
    return tf.stack(
        [tf.cast(y, tf.float32), tf.cast(predicted, tf.float32), loss, confidence], axis=1
    )


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
    """Count the records whose outputs are no probabilities although the loss takes them.

    The count is 0 if the loss takes logits or is not one of Keras's.
    """
    name = None if from_logits(model) else _name(model)
    if name is None:
        return tf.zeros(())
    tolerance = _TOLERANCE if predictions.dtype.size >= tf.float32.size else _TOLERANCE_OF_HALVES
    outputs = tf.cast(predictions, tf.float32)
    proper = tf.reduce_all((outputs >= -tolerance) & (outputs <= 1.0 + tolerance), axis=-1)
    if "Categorical" in name:
        proper &= tf.abs(tf.reduce_sum(outputs, axis=-1) - 1.0) <= tolerance
    return tf.reduce_sum(tf.cast(~proper, tf.float32))


def _name(model: Any) -> str | None:
    """Return the model's Keras loss on probabilities, given as name, object or function."""
    losses = library(legacy=is_legacy(model)).losses
    loss = losses.get(model.loss) if isinstance(model.loss, str) else model.loss
    if isinstance(loss, partial):
        loss = loss.func
    for name, function in _LOSSES.items():
        kind = getattr(losses, name)
        if loss in (kind, getattr(losses, function)) or isinstance(loss, kind):
            return name
    return None
