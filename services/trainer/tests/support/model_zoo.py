"""Model functions as users write them, right and wrong ones."""

from __future__ import annotations

from typing import Any

import keras

layers = keras.layers


def small(shape: tuple[int, ...], classes: int | None, units: int = 3) -> keras.Model:
    """Trained in a blink."""
    return compiled(network(shape, classes, units))


def network(shape: tuple[int, ...], classes: int | None, units: int = 3) -> keras.Model:
    inputs = layers.Input(shape)
    x = layers.Dropout(0.1)(layers.Dense(units, "relu")(layers.Flatten()(inputs)))
    return keras.Model(inputs, layers.Dense(classes or 1, "softmax" if classes else None)(x))


def compiled(model: keras.Model, library: Any = keras, **changes: Any) -> keras.Model:
    classes = model.output_shape[-1] > 1
    usual = {
        "optimizer": library.optimizers.Adam(1e-2),
        "loss": "sparse_categorical_crossentropy" if classes else "mean_squared_error",
        "metrics": ["accuracy"] if classes else [],
    }
    model.compile(**(usual | changes))
    return model


def binary(shape: tuple[int, ...], classes: int) -> keras.Model:
    """One score for two classes."""
    model = network(shape, None)
    return compiled(model, loss=keras.losses.BinaryCrossentropy(from_logits=True))


def accuracy_of_logits(shape: tuple[int, ...], classes: int) -> keras.Model:
    """One score for two classes, always above 0 and below 0.5, which Keras takes for the limit."""
    model = network(shape, None)
    quarter = layers.Rescaling(1e-3, offset=0.25)(model.output)
    loss = keras.losses.BinaryCrossentropy(from_logits=True)
    return compiled(keras.Model(model.input, quarter), loss=loss, metrics=["accuracy"])


def other_accuracy(shape: tuple[int, ...], classes: int) -> keras.Model:
    """Another metric of that name."""
    among = keras.metrics.SparseTopKCategoricalAccuracy(k=classes, name="accuracy")
    return compiled(network(shape, classes), metrics=[among])


class Own(keras.Model):
    """A class of the user's, which Keras does not know how to write."""

    def __init__(self, classes: int, memory: object) -> None:
        super().__init__()
        self.memory = memory
        self.flatten = layers.Flatten()
        self.dense = layers.Dense(classes, "softmax")

    def call(self, x: Any, training: bool = False) -> Any:
        return self.dense(self.flatten(x))


def own_class(shape: tuple[int, ...], classes: int) -> keras.Model:
    model = Own(classes, object())
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


def never_finite_metric(shape: tuple[int, ...], classes: int) -> keras.Model:
    def nothing(y: Any, predictions: Any) -> Any:
        return keras.ops.mean(predictions) * float("nan")

    return compiled(network(shape, classes), metrics=["accuracy", nothing])


def metrics_called_as_fields(shape: tuple[int, ...], classes: int) -> keras.Model:
    """Names that the lines of logs and of progress have."""
    metric = keras.metrics.SparseCategoricalAccuracy
    names = ("event", "step", "input_wait", "readable", "self")
    return compiled(network(shape, classes), metrics=[metric(name=name) for name in names])


def zero_loss(shape: tuple[int, ...], classes: int) -> keras.Model:
    """A loss that does not look at the targets, and has found its minimum."""

    def nothing(y: Any, predictions: Any) -> Any:
        return 0.0 * keras.ops.mean(predictions, axis=-1)

    return compiled(network(shape, classes), loss=nothing)


def learns_all(shape: tuple[int, ...], classes: int) -> keras.Model:
    """A loss that is 0 from the second step on."""
    inputs = layers.Input(shape)
    nothing = layers.Rescaling(0.0)(layers.Flatten()(inputs))
    model = keras.Model(inputs, layers.Dense(classes, bias_initializer="ones")(nothing))

    def above_zero(y: Any, predictions: Any) -> Any:
        return keras.ops.mean(keras.ops.relu(predictions), axis=-1)

    return compiled(model, loss=above_zero, optimizer=keras.optimizers.SGD(100.0))


def infinite_loss(shape: tuple[int, ...], classes: int) -> keras.Model:
    """Of the third step on: the first two learn something terrible."""
    model = network(shape, classes)
    return compiled(model, optimizer=keras.optimizers.SGD(1e38))


def scores(shape: tuple[int, ...], classes: int | None) -> keras.Model:
    """Without an end: what it says are no probabilities."""
    inputs = layers.Input(shape)
    return keras.Model(inputs, layers.Dense(classes or 1)(layers.Flatten()(inputs)))


def not_said_to_be_logits(shape: tuple[int, ...], classes: int) -> keras.Model:
    return compiled(scores(shape, classes))


def explodes(shape: tuple[int, ...], classes: int) -> keras.Model:
    """The loss of the second step is finite, and means nothing; one number tells no classes."""
    inputs = layers.Input(shape)
    x = layers.GlobalAveragePooling1D()(layers.Reshape((-1, 1))(inputs))
    model = keras.Model(inputs, layers.Dense(classes)(x))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return compiled(model, loss=loss, optimizer=keras.optimizers.SGD(1e20))


def any_windows(shape: tuple[int, ...], classes: int) -> keras.Model:
    inputs = layers.Input((None, None))
    x = layers.GlobalAveragePooling1D()(layers.Reshape((-1, 1))(inputs))
    return compiled(keras.Model(inputs, layers.Dense(classes, "softmax")(x)))


def with_channel(shape: tuple[int, ...], classes: int) -> keras.Model:
    """Keras adds an axis of 1 at the end by itself."""
    return compiled(network((*shape, 1), classes))


# --- what is refused -------------------------------------------------------------------------


def takes_nothing() -> None:
    """Neither shape nor classes."""


def fails(shape: tuple[int, ...], classes: int) -> keras.Model:
    raise RuntimeError("out of luck")


class Unlucky(Own):
    def call(self, x: Any, training: bool = False) -> Any:
        raise RuntimeError("out of luck")


def fails_when_called(shape: tuple[int, ...], classes: int) -> keras.Model:
    model = Unlucky(classes, object())
    model.compile("adam", "sparse_categorical_crossentropy")
    return model


def no_model(shape: tuple[int, ...], classes: int) -> str:
    return "a model"


def not_compiled(shape: tuple[int, ...], classes: int) -> keras.Model:
    return network(shape, classes)


def no_loss(shape: tuple[int, ...], classes: int) -> keras.Model:
    return compiled(network(shape, classes), loss=None)


def several_losses(shape: tuple[int, ...], classes: int) -> keras.Model:
    return compiled(network(shape, classes), loss=["mse"])


def unknown_loss(shape: tuple[int, ...], classes: int) -> keras.Model:
    return compiled(network(shape, classes), loss="hinge_of_doom")


def one_hot_loss(shape: tuple[int, ...], classes: int) -> keras.Model:
    return compiled(network(shape, classes), loss="categorical_crossentropy")


def loss_without_reduction(shape: tuple[int, ...], classes: int) -> keras.Model:
    loss = keras.losses.SparseCategoricalCrossentropy(reduction="none")
    return compiled(network(shape, classes), loss=loss)


def two_outputs(shape: tuple[int, ...], classes: int) -> keras.Model:
    inputs = layers.Input(shape)
    x = layers.Flatten()(inputs)
    model = keras.Model(inputs, [layers.Dense(classes)(x), layers.Dense(1)(x)])
    model.compile("sgd", "sparse_categorical_crossentropy")
    return model


def too_many_scores(shape: tuple[int, ...], classes: int) -> keras.Model:
    return compiled(network(shape, classes + 4))


def other_windows(shape: tuple[int, ...], classes: int) -> keras.Model:
    return compiled(network((5, 5), classes))


def transposed(shape: tuple[int, ...], classes: int) -> keras.Model:
    """As many numbers, on their side: Flatten takes them."""
    return compiled(network(shape[::-1], classes))


def built_transposed(shape: tuple[int, ...], classes: int) -> keras.Model:
    """A class of the user's, which says what it takes by having been called."""
    model = own_class(shape, classes)
    model(keras.ops.zeros((1, *shape[::-1])))
    return model


class PerClass(keras.metrics.Metric):
    def __init__(self) -> None:
        super().__init__(name="per_class")
        self.total = self.add_weight(shape=(3,), name="total", initializer="zeros")

    def update_state(self, y: Any, predictions: Any, sample_weight: Any = None) -> None:
        self.total.assign_add(keras.ops.sum(predictions, axis=0))

    def result(self) -> Any:
        return self.total + 0.0


def metric_of_three(shape: tuple[int, ...], classes: int) -> keras.Model:
    return compiled(network(shape, classes), metrics=[PerClass()])


def metric_called_epoch(shape: tuple[int, ...], classes: int) -> keras.Model:
    return compiled(
        network(shape, classes), metrics=[keras.metrics.SparseCategoricalAccuracy(name="epoch")]
    )


class OwnStep(keras.Model):
    def train_step(self, data: Any) -> Any:
        return super().train_step(data)


class OwnTest(keras.Model):
    def test_step(self, data: Any) -> Any:
        return super().test_step(data)


class OwnLoss(keras.Model):
    def compute_loss(self, *args: Any, **more: Any) -> Any:
        return super().compute_loss(*args, **more)


class OwnMetrics(keras.Model):
    def compute_metrics(self, *args: Any, **more: Any) -> Any:
        return super().compute_metrics(*args, **more)


def _as(kind: type[keras.Model], shape: tuple[int, ...], classes: int) -> keras.Model:
    plain = network(shape, classes)
    return compiled(kind(plain.inputs, plain.outputs))


def own_step(shape: tuple[int, ...], classes: int) -> keras.Model:
    return _as(OwnStep, shape, classes)


def own_test(shape: tuple[int, ...], classes: int) -> keras.Model:
    return _as(OwnTest, shape, classes)


def own_loss(shape: tuple[int, ...], classes: int) -> keras.Model:
    return _as(OwnLoss, shape, classes)


def own_metrics(shape: tuple[int, ...], classes: int) -> keras.Model:
    return _as(OwnMetrics, shape, classes)


def float8(shape: tuple[int, ...], classes: int) -> keras.Model:
    model = network(shape, classes)
    model.layers[-1].quantize("float8")
    return compiled(model)


class Counts(keras.layers.Layer):
    def build(self, shape: Any) -> None:
        self.seen = self.add_weight(shape=(), dtype="int32", trainable=False, name="seen")

    def call(self, x: Any) -> Any:
        return x


def counts_batches(shape: tuple[int, ...], classes: int) -> keras.Model:
    inputs = layers.Input(shape)
    x = layers.Flatten()(Counts()(inputs))
    return compiled(keras.Model(inputs, layers.Dense(classes, "softmax")(x)))
