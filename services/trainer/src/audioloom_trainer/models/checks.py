"""Refuse a model that cannot be trained exactly, and name the part and the reason."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import keras
import tensorflow as tf

from audioloom_trainer.errors import BadModel, describe_error
from audioloom_trainer.models.keras_compat import (
    compute_loss,
    in_replica,
    is_legacy,
    library,
    metric_shapes,
    path_of,
    unsupported,
    update_metrics,
)
from audioloom_trainer.models.state import other_state
from audioloom_trainer.shards.shard_set import ShardSet

_REDUCTIONS = ("sum_over_batch_size", "mean", "sum")
_OVERRIDDEN = ("train_step", "test_step", "compute_loss", "compute_metrics")


def check_model(
    model: Any, shard_set: ShardSet, *, replicas: int = 1, legacy: bool = False
) -> None:
    """Check the return value of the user's function for shards, replicas and the wanted Keras.

    Try it on one window of zeros, which creates its metrics' variables.

    Raises:
        BadModel: names the fault of the model, but not where it is.
    """
    _check_compiled(model, legacy=legacy)
    for found, hint in _inexact(model, replicas):
        raise BadModel(expected="a model that can be trained exactly", found=found, hint=hint)
    _check_shapes(model, shard_set.shape, shard_set.classes)
    _check_loss(model, shard_set.shape, shard_set.classes)


def _check_compiled(model: Any, *, legacy: bool) -> None:
    if not isinstance(model, library(legacy=legacy).Model):
        raise BadModel(
            expected="a model of tf_keras, for --keras legacy" if legacy else "a Keras 3 model",
            found=f"{type(model).__module__}.{type(model).__qualname__}",
            hint="Import tf_keras in its file (tf.keras is Keras 3 here), or leave --keras out."
            if legacy
            else "For a model of the older tf_keras give --keras legacy.",
        )
    optimizer = getattr(model, "optimizer", None)
    if optimizer is None or not getattr(model, "compiled", True):
        raise BadModel(
            expected="a compiled model with an optimizer",
            found="one without",
            hint="Call model.compile(optimizer=…, loss=…, metrics=[…]) before you return it.",
        )
    if not model.loss or isinstance(model.loss, (dict, list, tuple)):
        found = "several" if model.loss else "no loss"
        raise BadModel(expected="compile() with one loss", found=found)


def _inexact(model: Any, replicas: int) -> Iterator[tuple[str, str]]:
    """Yield features that would be ignored or make several replicas differ, with a remedy."""
    plain = library(legacy=is_legacy(model)).Model
    for name in _OVERRIDDEN:
        if getattr(type(model), name) is not getattr(plain, name):
            yield (
                f"{type(model).__name__} overrides {name}()",
                "The loop is the trainer's own; put what it does into the loss, a layer (add_loss)"
                " or a metric.",
            )
    reduction = getattr(model.loss, "reduction", "sum_over_batch_size")
    if reduction not in (*_REDUCTIONS, "auto"):  # tf_keras's name of the first reduction
        yield f"a loss with reduction={reduction!r}", f"Use one of {', '.join(_REDUCTIONS)}."
    if is_legacy(model):
        yield from unsupported(model, replicas)
    if replicas == 1:
        return
    for variable in model.trainable_variables:
        if getattr(variable, "overwrite_with_gradient", False):
            yield (
                f"{path_of(variable)!r}, a scale of float8, with {replicas} replicas",
                "Keras hands scales over as gradients, which are added up over the replicas: use"
                " mixed_bfloat16, or one replica.",
            )
    for variable in other_state(model):
        kind = keras.backend.standardize_dtype(variable.dtype)
        if is_legacy(model) or not keras.backend.is_float_dtype(kind):
            yield (
                f"the state {path_of(variable)!r} of type {kind} with {replicas} replicas",
                "State that is not trained is averaged over the replicas, and only floating point"
                " numbers of Keras 3 can be.",
            )


def _check_shapes(model: keras.Model, shape: tuple[int, ...], classes: int | None) -> None:
    expected = f"a model that takes windows of shape {shape}"
    declared = _input_shape(model)
    if declared is not None and not _fits(declared, shape):
        turn = (
            "keras.layers.Permute((2, 1)) transposes" if _fits(declared, shape[::-1]) else "reshape"
        )
        raise BadModel(
            expected=expected,
            found=f"one that takes {declared}",
            hint=f"Its first layer is keras.layers.Input(shape); {turn} after that.",
        )
    hint = "Its first layer is keras.layers.Input(shape); reshape after that."
    output = _tried(model, lambda: model(tf.zeros((1, *shape)), training=False), expected, hint)
    if not tf.is_tensor(output):
        found = f"{type(output).__name__} of several"
        raise BadModel(expected="a model with one output", found=found)
    wanted = (1, 1) if classes is None else (1, classes)
    found_shape = tuple(output.shape)
    binary = classes == 2 and found_shape == (1, 1)  # noqa: PLR2004
    if found_shape != wanted and not binary:
        what = "one number" if classes is None else f"one score for each of {classes} classes"
        raise BadModel(
            expected=f"an output of shape (batch, {wanted[1]}): {what}",
            found=f"(batch, {', '.join(map(str, found_shape[1:]))})",
        )


def _check_loss(model: keras.Model, shape: tuple[int, ...], classes: int | None) -> None:
    """Try loss and metrics on one record to create the metrics' variables, then reset them."""
    x = tf.zeros((1, *shape))
    y = tf.zeros((1,), "float32" if classes is None else "int32")
    what = "float32 numbers" if classes is None else "class numbers (int32)"

    def score() -> None:
        predictions = model(x, training=False)
        compute_loss(model, x, y, predictions)
        update_metrics(model, x, y, predictions)

    one_hot = "For classes, take sparse_categorical_crossentropy: targets are not one-hot."
    try:
        expected = f"a loss and metrics that take {what} of shape (batch,)"
        _tried(model, score, expected, hint="" if classes is None else one_hot)
    finally:
        model.reset_metrics()
    for name, found in metric_shapes(model).items():
        if name == "epoch":
            raise BadModel(
                expected="metrics with other names than epoch",
                found=f"{name!r}",
                hint="The history counts the epochs by this name: give the metric another one.",
            )
        if found:
            raise BadModel(
                expected="metrics that are one number each",
                found=f"{name!r} of shape {found}",
                hint="Let it average over the classes: the run keeps a table of them anyway.",
            )


def _tried(model: Any, run: Callable[[], Any], expected: str, hint: str) -> Any:
    try:
        return in_replica(model, run)
    except Exception as error:
        raise BadModel(expected=expected, found=describe_error(error), hint=hint) from error


def _input_shape(model: Any) -> tuple[int | None, ...] | None:
    """Return the declared input shape of the model, without the batch; None if undeclared.

    Keras itself compares only the rank, and a dense layer accepts transposed windows.
    """
    inputs: Sequence[Any] | None = getattr(model, "inputs", None)
    if inputs:
        return tuple(inputs[0].shape[1:]) if len(inputs) == 1 else None
    built = (model.get_build_config() or {}).get("input_shape")  # the user's own class, if built
    return None if built is None else tuple(built[1:])


def _fits(declared: tuple[int | None, ...], shape: tuple[int, ...]) -> bool:
    """Return whether *shape* fits the declared one; Keras adds a last axis of 1 by itself."""
    if len(declared) == len(shape) + 1 and declared[-1] == 1:
        declared = declared[:-1]
    return len(declared) == len(shape) and all(
        one in (None, other) for one, other in zip(declared, shape, strict=True)
    )
