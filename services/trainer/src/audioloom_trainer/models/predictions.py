"""What a model says of each record, as its outputs tell: class, confidence and loss."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from audioloom_trainer.models.keras_compat import from_logits

# What Keras takes for the least probability.
_EPSILON = 1e-7


def class_scores(model: keras.Model, outputs: Any, classes: int) -> Any:
    """One column a class; a single output for two classes is that of class 1."""
    if outputs.shape[-1] == classes:
        return outputs
    logits = from_logits(model)
    return tf.concat([tf.zeros_like(outputs) if logits else 1.0 - outputs, outputs], axis=1)


def record_predictions(model: keras.Model, y: Any, predictions: Any, classes: int) -> Any:
    """One row a record, columns as in `tally.PREDICTION`.

    Args:
        model: whose loss tells what its outputs are: probabilities or logits.
        y: true classes, int32 (records,).
        predictions: the outputs, (records, classes), or (records, 1) of two classes.
        classes: how many there are.

    Returns:
        float32 (records, 4); NaN in loss and confidence where outputs are no probabilities.
    """
    logits = from_logits(model)
    outputs = class_scores(model, tf.cast(predictions, tf.float32), classes)
    said = tf.argmax(outputs, axis=1, output_type=tf.int32)
    logs = tf.nn.log_softmax(outputs if logits else tf.math.log(tf.maximum(outputs, _EPSILON)))
    if not logits:
        sensible = tf.reduce_all((outputs >= 0.0) & (outputs <= 1.0 + 1e-3), axis=1, keepdims=True)
        logs = tf.where(sensible, logs, float("nan"))
    loss = -tf.gather(logs, y, batch_dims=1)
    confidence = tf.exp(tf.gather(logs, said, batch_dims=1))
    return tf.stack([tf.cast(y, tf.float32), tf.cast(said, tf.float32), loss, confidence], axis=1)
