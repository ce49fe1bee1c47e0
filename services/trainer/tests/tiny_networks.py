"""Networks that are trained in a blink, for what does not depend on the network."""

from __future__ import annotations

import keras


def dense(
    shape: tuple[int, ...],
    classes: int | None,
    *,
    batchnorm: bool = False,
    dropout: float = 0.0,
    clipnorm: float | None = None,
    l2: float = 0.0,
) -> keras.Model:
    """Two dense layers, with what is to be tried between them."""
    layers = keras.layers
    inputs = layers.Input(shape)
    # A bias before batch normalisation has no gradient but noise, which Adam would blow up.
    decay = keras.regularizers.L2(l2) if l2 else None
    x = layers.Dense(4, use_bias=not batchnorm, kernel_regularizer=decay)(inputs)
    if batchnorm:
        x = layers.BatchNormalization(momentum=0.9)(x)
    x = layers.Flatten()(layers.ReLU()(x))
    if dropout:
        x = layers.Dropout(dropout)(x)
    model = keras.Model(inputs, layers.Dense(classes or 1, "softmax" if classes else None)(x))
    model.compile(
        optimizer=keras.optimizers.Adam(1e-2, clipnorm=clipnorm),
        loss="sparse_categorical_crossentropy" if classes else "mean_squared_error",
        metrics=["accuracy"] if classes else [],
    )
    return model
