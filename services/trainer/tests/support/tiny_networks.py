"""Networks that are trained in a blink, for what does not depend on the network."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np


def dense(
    shape: tuple[int, ...],
    classes: int | None,
    *,
    batchnorm: bool = False,
    dropout: float = 0.0,
    clipnorm: float | None = None,
    l2: float = 0.0,
    optimizer: str = "adam",
    policy: str = "float32",
    overflows: bool = False,
    drawn: bool = False,
    library: Any = keras,
) -> keras.Model:
    """Two dense layers, with what is to be tried between them.

    Both Kerases make the same of it, but for the first weights: *drawn* sets them here.
    """
    if library is keras:
        keras.config.set_dtype_policy(policy)
    layers = library.layers
    inputs = layers.Input(shape)
    x = Overflowing()(inputs) if overflows else inputs
    # A bias before batch normalisation has no gradient but noise, which Adam would blow up.
    decay = library.regularizers.L2(l2) if l2 else None
    x = layers.Dense(4, use_bias=not batchnorm, kernel_regularizer=decay)(x)
    if batchnorm:
        x = layers.BatchNormalization(momentum=0.9)(x)
    x = layers.Flatten()(layers.ReLU()(x))
    if dropout:
        x = layers.Dropout(dropout)(x)
    model = library.Model(inputs, layers.Dense(classes or 1, "softmax" if classes else None)(x))
    if drawn:
        numbers = np.random.default_rng(7)
        model.set_weights([numbers.normal(0, 0.3, each.shape) for each in model.get_weights()])
    optimizers = {"adam": adam, "accumulating": accumulating, "scaling": scaling}
    model.compile(
        optimizer=optimizers[optimizer](clipnorm)
        if library is keras
        else library.optimizers.Adam(1e-2, clipnorm=clipnorm),
        loss="sparse_categorical_crossentropy" if classes else "mean_squared_error",
        metrics=["accuracy"] if classes else [],
    )
    return model


def adam(clipnorm: float | None) -> keras.Optimizer:
    """What is usual."""
    return keras.optimizers.Adam(1e-2, clipnorm=clipnorm)


def accumulating(_: float | None) -> keras.Optimizer:
    """An update in three steps, with all that Keras does around it."""
    return keras.optimizers.AdamW(
        keras.optimizers.schedules.ExponentialDecay(1e-2, 5, 0.9),
        weight_decay=0.01,
        global_clipnorm=0.05,
        use_ema=True,
        ema_momentum=0.5,
        ema_overwrite_frequency=4,
        gradient_accumulation_steps=3,
    )


def scaling(_: float | None) -> keras.Optimizer:
    """A loss that is scaled twice as high after seven steps, and half as high after a bad one."""
    inner = keras.optimizers.Adam(1e-2, clipvalue=0.01, gradient_accumulation_steps=2)
    return keras.optimizers.LossScaleOptimizer(inner, initial_scale=2.0**8, dynamic_growth_steps=7)


class Overflowing(keras.layers.Layer):
    """A factor that has no finite gradient where a record begins with a large number."""

    def build(self, shape: Any) -> None:
        self.factor = self.add_weight(shape=(), initializer="ones", name="factor")

    def call(self, x: Any) -> Any:
        usual = keras.ops.cast(x[:, :1, :1] < 1.5, x.dtype)
        return x * keras.ops.sqrt(self.factor * usual)
