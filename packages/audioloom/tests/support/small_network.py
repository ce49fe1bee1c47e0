"""A small network of Keras, and its weights as a training run has them."""

from __future__ import annotations

import io
from typing import Any

import keras
import numpy as np


def network(dtype: str = "float32") -> Any:
    inputs = keras.layers.Input((2, 3))
    x = keras.layers.BatchNormalization()(keras.layers.Flatten()(inputs))
    model = keras.Model(inputs, keras.layers.Dense(2, "softmax", dtype=dtype)(x))
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


def arrays(model: Any) -> bytes:
    """The weights as the contract has them: numbered, in the order of the model."""
    out = io.BytesIO()
    named = {f"weights-{n:05}/{w.name}": each for n, (w, each) in enumerate(
        zip(model.weights, model.get_weights(), strict=True))}  # fmt: skip
    np.savez(out, **named)
    return out.getvalue()
