"""Networks of the older Keras, right and wrong ones: `--keras legacy`."""

from __future__ import annotations

from typing import Any

import model_zoo
import tf_keras as keras
import tiny_networks

layers = keras.layers


def dense(
    shape: tuple[int, ...],
    classes: int | None,
    *,
    batchnorm: bool = False,
    dropout: float = 0.0,
    clipnorm: float | None = None,
    l2: float = 0.0,
    drawn: bool = False,
) -> keras.Model:
    """What Keras 3 makes of `tiny_networks.dense`."""
    own = {"batchnorm": batchnorm, "dropout": dropout, "clipnorm": clipnorm, "l2": l2}
    return tiny_networks.dense(shape, classes, **own, drawn=drawn, library=keras)


def compiled(model: keras.Model, **changes: Any) -> keras.Model:
    return model_zoo.compiled(model, library=keras, **changes)


def network(shape: tuple[int, ...], classes: int) -> keras.Model:
    inputs = layers.Input(shape)
    x = layers.Flatten()(inputs)
    return keras.Model(inputs, layers.Dense(classes, "softmax")(x))


def logits(shape: tuple[int, ...], classes: int) -> keras.Model:
    inputs = layers.Input(shape)
    model = keras.Model(inputs, layers.Dense(classes)(layers.Flatten()(inputs)))
    return compiled(model, loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))


def not_said_to_be_logits(shape: tuple[int, ...], classes: int) -> keras.Model:
    inputs = layers.Input(shape)
    return compiled(keras.Model(inputs, layers.Dense(classes)(layers.Flatten()(inputs))))


# --- what is refused -------------------------------------------------------------------------


def transposed(shape: tuple[int, ...], classes: int) -> keras.Model:
    return compiled(network(shape[::-1], classes))


def not_compiled(shape: tuple[int, ...], classes: int) -> keras.Model:
    return network(shape, classes)


def no_loss(shape: tuple[int, ...], classes: int) -> keras.Model:
    return compiled(network(shape, classes), loss=None)


def loss_without_reduction(shape: tuple[int, ...], classes: int) -> keras.Model:
    loss = keras.losses.SparseCategoricalCrossentropy(reduction="none")
    return compiled(network(shape, classes), loss=loss)


class PerClass(keras.metrics.Metric):
    def __init__(self) -> None:
        super().__init__(name="per_class")
        self.total = self.add_weight(shape=(3,), name="total", initializer="zeros")

    def update_state(self, y: Any, predictions: Any, sample_weight: Any = None) -> None:
        self.total.assign_add(predictions[0])

    def reset_state(self) -> None:
        self.total.assign([0.0, 0.0, 0.0])

    def result(self) -> Any:
        return self.total + 0.0


def metric_of_three(shape: tuple[int, ...], classes: int) -> keras.Model:
    return compiled(network(shape, classes), metrics=[PerClass()])


class OwnStep(keras.Model):
    def train_step(self, data: Any) -> Any:
        return super().train_step(data)


def own_step(shape: tuple[int, ...], classes: int) -> keras.Model:
    plain = network(shape, classes)
    return compiled(OwnStep(plain.inputs, plain.outputs))


def older_optimizer(shape: tuple[int, ...], classes: int) -> keras.Model:
    return compiled(network(shape, classes), optimizer=keras.optimizers.legacy.Adam())


def scaled_loss(shape: tuple[int, ...], classes: int) -> keras.Model:
    optimizer = keras.mixed_precision.LossScaleOptimizer(keras.optimizers.Adam())
    return compiled(network(shape, classes), optimizer=optimizer)


def half_precision(shape: tuple[int, ...], classes: int) -> keras.Model:
    inputs = layers.Input(shape)
    x = layers.Dense(classes, "softmax", dtype="mixed_bfloat16")(layers.Flatten()(inputs))
    return compiled(keras.Model(inputs, x))


def forgetful_dropout(shape: tuple[int, ...], classes: int) -> keras.Model:
    inputs = layers.Input(shape)
    x = layers.Dropout(0.1, rng_type="legacy_stateful")(layers.Flatten()(inputs))
    return compiled(keras.Model(inputs, layers.Dense(classes, "softmax")(x)))


def averages(shape: tuple[int, ...], classes: int) -> keras.Model:
    return compiled(network(shape, classes), optimizer=keras.optimizers.Adam(use_ema=True))


def constrained(shape: tuple[int, ...], classes: int) -> keras.Model:
    inputs = layers.Input(shape)
    dense = layers.Dense(classes, "softmax", kernel_constraint=keras.constraints.MaxNorm(1.0))
    return compiled(keras.Model(inputs, dense(layers.Flatten()(inputs))))


def renormalises(shape: tuple[int, ...], classes: int) -> keras.Model:
    inputs = layers.Input(shape)
    x = layers.Flatten()(layers.BatchNormalization(renorm=True)(inputs))
    return compiled(keras.Model(inputs, layers.Dense(classes, "softmax")(x)))


class Counts(layers.Layer):
    def build(self, shape: Any) -> None:
        self.seen = self.add_weight(name="seen", shape=(), trainable=False)

    def call(self, x: Any) -> Any:
        return x


def counts_batches(shape: tuple[int, ...], classes: int) -> keras.Model:
    inputs = layers.Input(shape)
    x = layers.Flatten()(Counts()(inputs))
    return compiled(keras.Model(inputs, layers.Dense(classes, "softmax")(x)))
