"""Refuse a model that cannot be trained, or not exactly; each refusal says which and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras

from audioloom_trainer.errors import BadModel, told
from audioloom_trainer.model_source import ModelSource
from audioloom_trainer.variables import other_state

__all__ = ["check_model", "metric_names"]

_REDUCTIONS = ("sum_over_batch_size", "mean", "sum")
_OVERRIDDEN = ("train_step", "test_step", "compute_loss", "compute_metrics")


def check_model(
    model: Any, source: ModelSource, *, shape: tuple[int, ...], classes: int | None, replicas: int
) -> None:
    """Try the model on one window of zeros, which makes the variables of its metrics.

    Args:
        model: what the user's function returned.
        source: where the function is.
        shape: of one window, without the batch.
        classes: how many there are; None when a number is to be learned.
        replicas: how many train together.

    Raises:
        BadModel: what is wrong, by name.
    """
    _check_compiled(model, source)
    _check_exact(model, source, replicas)
    _check_shapes(model, source, shape, classes)
    _check_loss(model, source, shape, classes)


def _check_compiled(model: Any, source: ModelSource) -> None:
    if not isinstance(model, keras.Model):
        hint = "A model of the older tf_keras is not taken: import keras instead."
        found = f"{type(model).__module__}.{type(model).__qualname__}"
        raise BadModel(where=source.place, expected="a Keras 3 model", found=found, hint=hint)
    optimizer = getattr(model, "optimizer", None)
    if optimizer is None or not model.compiled:
        raise BadModel(
            where=source.place,
            expected="a compiled model with an optimizer",
            found="one without",
            hint="Call model.compile(optimizer=…, loss=…, metrics=[…]) before you return it.",
        )
    if model.loss is None or isinstance(model.loss, (dict, list, tuple)):
        found = "no loss" if model.loss is None else "several"
        raise BadModel(where=source.place, expected="compile() with one loss", found=found)


def _check_exact(model: keras.Model, source: ModelSource, replicas: int) -> None:
    """Refuse by name what would be ignored, or would make several replicas differ from one."""

    def refuse(found: str, hint: str) -> BadModel:
        return BadModel(
            where=source.place,
            expected="a model that can be trained exactly",
            found=found,
            hint=hint,
        )

    for name in _OVERRIDDEN:
        if getattr(type(model), name) is not getattr(keras.Model, name):
            raise refuse(
                f"{type(model).__name__} overrides {name}()",
                "The loop is the trainer's own; put what it does into the loss, a layer (add_loss)"
                " or a metric.",
            )
    reduction = getattr(model.loss, "reduction", "sum_over_batch_size")
    if reduction not in _REDUCTIONS:
        raise refuse(
            f"a loss with reduction={reduction!r}", f"Use one of {', '.join(_REDUCTIONS)}."
        )
    if replicas == 1:
        return
    for variable in model.trainable_variables:
        if getattr(variable, "overwrite_with_gradient", False):
            raise refuse(
                f"{variable.path!r}, a scale of float8, with {replicas} replicas",
                "Keras hands scales over as gradients, which are added up over the replicas: use"
                " mixed_bfloat16, or one replica.",
            )
    for variable in other_state(model):
        if not keras.backend.is_float_dtype(variable.dtype):
            raise refuse(
                f"the state {variable.path!r} of type {variable.dtype} with {replicas} replicas",
                "State that is not trained is averaged over the replicas, and only floating point"
                " numbers can be.",
            )


def _check_shapes(
    model: keras.Model, source: ModelSource, shape: tuple[int, ...], classes: int | None
) -> None:
    try:
        output = model(keras.ops.zeros((1, *shape)), training=False)
    except Exception as error:
        raise BadModel(
            where=source.place,
            expected=f"a model that takes windows of shape {shape}",
            found=_input_shapes(model) or told(error),
            hint="Its first layer is keras.layers.Input(shape); reshape after that.",
        ) from error
    if not keras.ops.is_tensor(output):
        found = f"{type(output).__name__} of several"
        raise BadModel(where=source.place, expected="a model with one output", found=found)
    wanted = (1, 1) if classes is None else (1, classes)
    found_shape = tuple(output.shape)
    binary = classes == 2 and found_shape == (1, 1)  # noqa: PLR2004
    if found_shape != wanted and not binary:
        what = "one number" if classes is None else f"one score for each of {classes} classes"
        raise BadModel(
            where=source.place,
            expected=f"an output of shape (batch, {wanted[1]}): {what}",
            found=f"(batch, {', '.join(map(str, found_shape[1:]))})",
        )


def _check_loss(
    model: keras.Model, source: ModelSource, shape: tuple[int, ...], classes: int | None
) -> None:
    """Try loss and metrics on one record, which makes the metrics' variables, and take it back."""
    x = keras.ops.zeros((1, *shape))
    y = keras.ops.zeros((1,), "float32" if classes is None else "int32")
    what = "float32 numbers" if classes is None else "class numbers (int32)"
    try:
        predictions = model(x, training=False)
        model.compute_loss(x, y, predictions)
        model.compute_metrics(x, y, predictions)
    except Exception as error:
        raise BadModel(
            where=source.place,
            expected=f"a loss and metrics that take {what} of shape (batch,)",
            found=told(error),
            hint=""
            if classes is None
            else "For classes, take sparse_categorical_crossentropy: targets are not one-hot.",
        ) from error
    finally:
        model.reset_metrics()
    for name, value in _metrics_of_nothing(model).items():
        if keras.ops.shape(value):
            raise BadModel(
                where=source.place,
                expected="metrics that are one number each",
                found=f"{name!r} of shape {tuple(keras.ops.shape(value))}",
                hint="Let it average over the classes: the run keeps a table of them anyway.",
            )


def metric_names(model: keras.Model) -> list[str]:
    """What the model's metrics are called in the history, beside the loss."""
    return [name for name in _metrics_of_nothing(model) if name != "loss"]


def _metrics_of_nothing(model: keras.Model) -> dict[str, Any]:
    """What the metrics would answer, without reading their variables: workers add those up."""
    found: dict[str, Any] = {}
    for metric in model.metrics:
        value = metric.stateless_result(
            [keras.ops.zeros(v.shape, v.dtype) for v in metric.variables]
        )
        found |= value if isinstance(value, dict) else {metric.name: value}
    return found


def _input_shapes(model: keras.Model) -> str:
    try:
        shapes: Sequence[Any] = [tuple(tensor.shape[1:]) for tensor in model.inputs]
    except (AttributeError, TypeError, ValueError):
        return ""
    return f"one that takes {', '.join(map(str, shapes))}"
