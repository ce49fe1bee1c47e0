"""The networks that lanes train, in whichever Keras a lane uses: the same layers and sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

from audioloom_trainer import networks


def conv1d(keras: Any, shape: tuple[int, ...], classes: int | None) -> Any:
    """`audioloom_trainer.networks:conv1d`, built and compiled by *keras* (Keras 3 or tf_keras)."""
    with patch.object(networks, "keras", keras):
        return networks.conv1d(shape, classes)


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


NETWORKS: dict[str, Callable[..., Any]] = {"tiny Dense": dense, "light Conv1D": conv1d}
