"""The user's model: load the function, call it, refuse what cannot be trained exactly."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import keras
import structlog

from audioloom_trainer.errors import BadModel
from audioloom_trainer.model_source import ModelSource

__all__ = ["build_model", "other_state", "seed_state"]

log = structlog.get_logger()

_REDUCTIONS = ("sum_over_batch_size", "mean", "sum")
_OVERRIDDEN = ("train_step", "test_step", "compute_loss", "compute_metrics")


def build_model(
    source: ModelSource,
    *,
    shape: tuple[int, ...],
    classes: int | None,
    arguments: Mapping[str, Any],
    replicas: int,
) -> keras.Model:
    """Call the user's function and check what it returns; call it under the strategy's scope.

    Args:
        source: where the function is.
        shape: of one window, without the batch.
        classes: how many there are; None when a number is to be learned.
        arguments: the user's own.
        replicas: how many train together.

    Returns:
        The compiled model, built, its optimizer too, with BatchNormalization synchronised.

    Raises:
        BadModel: what is wrong, by name.
    """
    function = _load(source)
    given = {"shape": shape, "classes": classes, **arguments}
    try:
        model = function(**given)
    except Exception as error:
        raise BadModel(
            where=source.label,
            expected=f"a compiled model from {source.function}({_shown(given)})",
            found=f"{type(error).__name__}: {error}",
            hint="The function takes shape and classes by name, and each --model-arg.",
        ) from error
    _check_compiled(model, source)
    _check_exact(model, source, replicas)
    _check_shapes(model, source, shape, classes)
    normalising = [
        layer for layer in all_layers(model) if isinstance(layer, keras.layers.BatchNormalization)
    ]
    for layer in normalising:  # else each replica would normalise with its own share of the batch
        layer.synchronized = True
    if normalising:
        log.info("batch normalisation is synchronised", layers=len(normalising))
    model.optimizer.build(model.trainable_variables)
    return model


def all_layers(model: keras.Model) -> Iterator[keras.layers.Layer]:
    """Every layer, at any depth, also those that a layer of the user's own holds."""
    yield from model._flatten_layers(include_self=False)  # noqa: SLF001  no public way sees them all


def seed_state(model: keras.Model) -> list[Any]:
    """The states of the model's random generators, such as Dropout's."""
    return [v for v in model.variables if v.name == "seed_generator_state"]


def other_state(model: keras.Model) -> list[Any]:
    """What training may change beside trained weights, seeds and batch normalisation."""
    known = {id(v) for v in (*model.trainable_variables, *seed_state(model), *metric_state(model))}
    for layer in all_layers(model):
        if isinstance(layer, keras.layers.BatchNormalization):
            known |= {id(v) for v in layer.variables}
    return [v for v in model.weights if id(v) not in known]


def metric_state(model: keras.Model) -> list[Any]:
    """The states of the model's metrics."""
    return [variable for metric in model.metrics for variable in metric.variables]


def _load(source: ModelSource) -> Any:
    try:
        if source.module is not None:
            module = importlib.import_module(source.module)
        else:
            name = f"audioloom_model_{source.path.stem}"
            spec = importlib.util.spec_from_file_location(name, source.path)
            if spec is None or spec.loader is None:
                raise ImportError(f"{source.path} is not a Python file")  # noqa: TRY301
            module = importlib.util.module_from_spec(spec)
            sys.modules[name] = module  # Keras looks custom classes up by their module
            spec.loader.exec_module(module)
    except Exception as error:
        raise BadModel(
            where=source.path,
            expected="a Python file that can be imported",
            found=f"{type(error).__name__}: {error}",
        ) from error
    function = getattr(module, source.function, None)
    if not callable(function):
        names = sorted(n for n in vars(module) if callable(getattr(module, n)) and n[0] != "_")
        raise BadModel(
            where=source.path,
            expected=f"a function {source.function!r}",
            found=f"the functions {', '.join(names[:20]) or 'none'}",
        )
    return function


def _check_compiled(model: Any, source: ModelSource) -> None:
    if not isinstance(model, keras.Model):
        hint = "A model of the older tf_keras is not taken: import keras instead."
        found = f"{type(model).__module__}.{type(model).__qualname__}"
        raise BadModel(where=source.label, expected="a Keras 3 model", found=found, hint=hint)
    optimizer = getattr(model, "optimizer", None)
    if optimizer is None or not model.compiled:
        raise BadModel(
            where=source.label,
            expected="a compiled model with an optimizer",
            found="one without",
            hint="Call model.compile(optimizer=…, loss=…, metrics=[…]) before you return it.",
        )
    if model.loss is None or isinstance(model.loss, (dict, list, tuple)):
        found = "no loss" if model.loss is None else "several"
        raise BadModel(where=source.label, expected="compile() with one loss", found=found)


def _check_exact(model: keras.Model, source: ModelSource, replicas: int) -> None:
    """Refuse by name what would be ignored, or would make several replicas differ from one."""

    def refuse(found: str, hint: str) -> BadModel:
        return BadModel(
            where=source.label,
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
    optimizer = model.optimizer
    if isinstance(optimizer, keras.optimizers.LossScaleOptimizer):
        raise refuse(
            f"loss scaling (mixed_float16) with {replicas} replicas",
            "Use mixed_bfloat16, or one replica.",
        )
    if optimizer.gradient_accumulation_steps:
        raise refuse(
            f"gradient_accumulation_steps with {replicas} replicas",
            "Use a larger --batch-size, or one replica.",
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
            where=source.label,
            expected=f"a model that takes windows of shape {shape}",
            found=_input_shapes(model) or f"{type(error).__name__}: {error}",
            hint="Its first layer is keras.layers.Input(shape); reshape after that.",
        ) from error
    if not keras.ops.is_tensor(output):
        found = f"{type(output).__name__} of several"
        raise BadModel(where=source.label, expected="a model with one output", found=found)
    wanted = (1, 1) if classes is None else (1, classes)
    found_shape = tuple(output.shape)
    binary = classes == 2 and found_shape == (1, 1)  # noqa: PLR2004
    if found_shape != wanted and not binary:
        what = "one number" if classes is None else f"one score for each of {classes} classes"
        raise BadModel(
            where=source.label,
            expected=f"an output of shape (batch, {wanted[1]}): {what}",
            found=f"(batch, {', '.join(map(str, found_shape[1:]))})",
        )


def _input_shapes(model: keras.Model) -> str:
    try:
        shapes: Sequence[Any] = [tuple(tensor.shape[1:]) for tensor in model.inputs]
    except (AttributeError, TypeError, ValueError):
        return ""
    return f"one that takes {', '.join(map(str, shapes))}"


def _shown(given: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={value!r}" for key, value in given.items())
