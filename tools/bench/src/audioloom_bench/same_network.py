"""The networks that lanes train, in whichever Keras a lane uses: the same layers and sizes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from unittest.mock import patch

from audioloom_trainer import networks


def conv1d(keras: Any, shape: tuple[int, ...], classes: int | None, **arguments: Any) -> Any:
    """`audioloom_trainer.networks:conv1d`, built and compiled by *keras* (Keras 3 or tf_keras)."""
    with patch.object(networks, "keras", keras):
        return networks.conv1d(shape, classes, **arguments)


def dense(keras: Any, shape: tuple[int, ...], classes: int | None, *, width: int = 16) -> Any:
    """Hardly a network: its step is mostly what a loop costs; *width* makes it as large as asked.

    12,520 values for each of *width* cells, so 400 make five million parameters.
    """
    layers = keras.layers
    inputs = layers.Input(shape)
    x = layers.Dense(width, activation="relu")(layers.Flatten()(inputs))
    model = keras.Model(inputs, layers.Dense(classes, activation="softmax")(x))
    model.compile(
        optimizer=keras.optimizers.Adam(1e-3),
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
    )
    return model


LIGHT, DEFAULT = "light Conv1D", "default Conv1D"
NETWORKS: dict[str, Callable[..., Any]] = {
    "tiny Dense": dense,
    LIGHT: partial(conv1d, filters=16),
    DEFAULT: conv1d,
}
"""By name. With 64 filters, as the trainer has it by default, a step is mostly convolutions."""
