"""Two networks for windows of MFCCs, compiled and ready: a light one and a heavy one.

A run names such a network by its revision in `models.source`: raise it when what is built changes.
"""

import keras
import numpy as np
from numpy.typing import NDArray

Moments = NDArray[np.float32]


def conv1d(
    shape: tuple[int, ...],
    classes: int | None,
    *,
    filters: int = 64,
    dropout: float = 0.3,
    learning_rate: float = 1e-3,
    normalise: bool = False,
    mean: Moments | None = None,
    variance: Moments | None = None,
) -> keras.Model:
    """A light network: convolutions along time, and the mean and maximum over it.

    It has no BatchNormalization: coefficients come normalised over the window, and making all of
    them equally large again lets the network learn the high ones by heart. On sentences that it
    never heard it scored 0.1 less with it. Without it, any number of replicas trains the same
    model to the last digits.

    The shape is (coefficients, frames). Without classes it learns a number. *normalise* makes each
    coefficient as large as the others in train, for features that were not normalised over their
    window; the trainer gives *mean* and *variance* of each coefficient there.

    Raises:
        ValueError: it is to normalise, and they are not known.
    """
    layers = keras.layers
    x = inputs = layers.Input(shape)
    if normalise:
        if mean is None or variance is None:
            raise ValueError(
                "normalise needs mean and variance of the coefficients, and the manifest of these"
                " shards has none: shard the features again"
            )
        x = layers.Normalization(axis=1, mean=mean, variance=variance)(x)
    x = layers.Permute((2, 1))(x)  # time first: (frames, coefficients)
    for width, stride in ((5, 2), (5, 2), (3, 1)):
        x = layers.Conv1D(filters, width, strides=stride, padding="same", activation="relu")(x)
    x = layers.Concatenate()([layers.GlobalAveragePooling1D()(x), layers.GlobalMaxPooling1D()(x)])
    x = layers.Dropout(dropout)(x)
    return _compiled(inputs, x, classes, learning_rate)


def conv2d_gru(
    shape: tuple[int, ...], classes: int | None, *, learning_rate: float = 1e-4
) -> keras.Model:
    """The network that a straightforward pipeline begins with: Conv2D, Conv2D, GRU, GRU, Dense.

    Its reshape makes a sequence of about 700 steps for the recurrent layers: a second a step on a
    CPU. Take it for comparisons, or with a GPU.
    """
    layers = keras.layers
    inputs = layers.Input(shape)
    x = layers.Reshape((*shape, 1))(inputs)
    for filters in (32, 64):
        x = layers.Conv2D(filters, 3, activation="relu")(x)
        x = layers.MaxPooling2D(2)(x)
    x = layers.Reshape((-1, 64))(x)
    x = layers.GRU(128, return_sequences=True)(x)
    x = layers.GRU(64)(x)
    x = layers.Dense(32, activation="relu")(x)
    return _compiled(inputs, x, classes, learning_rate)


def _compiled(
    inputs: keras.KerasTensor, x: keras.KerasTensor, classes: int | None, learning_rate: float
) -> keras.Model:
    if classes is None:
        model = keras.Model(inputs, keras.layers.Dense(1)(x))
        loss, metrics = "mean_squared_error", ["mean_absolute_error"]
    else:
        model = keras.Model(inputs, keras.layers.Dense(classes, activation="softmax")(x))
        loss, metrics = "sparse_categorical_crossentropy", ["accuracy"]
    model.compile(optimizer=keras.optimizers.Adam(learning_rate), loss=loss, metrics=metrics)
    return model
