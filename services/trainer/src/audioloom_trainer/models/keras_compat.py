"""What the two Kerases say differently: Keras 3, and "legacy", the older one of `tf_keras`.

Everything else that is done with a model is the same for both, and stands where it is done.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray


def library(*, legacy: bool) -> Any:
    """The package that models come from; the older one is imported for those who ask for it."""
    if not legacy:
        return keras
    import tf_keras  # noqa: PLC0415

    return tf_keras


def is_legacy(model: Any) -> bool:
    """Whether a model is one of `tf_keras`; it is a model of either."""
    return not isinstance(model, keras.Model)


# --- a step ------------------------------------------------------------------------------------


def compute_loss(
    model: Any, x: Any, y: Any, predictions: Any, weights: Any = None, *, training: bool = True
) -> Any:
    """The mean loss, and what layers add; both are divided by the number of replicas."""
    if is_legacy(model):
        return model.compute_loss(x, y, predictions, weights)
    return model.compute_loss(x, y, predictions, weights, training=training)


def update_metrics(model: Any, x: Any, y: Any, predictions: Any, weights: Any = None) -> None:
    """Show records to the metrics that the model was compiled with."""
    if is_legacy(model):  # its compute_metrics() adds up over the replicas at every step
        model.compiled_metrics.update_state(y, predictions, weights)
    else:
        model.compute_metrics(x, y, predictions, weights)


def scaled(model: Any, loss: Any) -> Any:
    """The loss whose gradients the optimizer wants."""
    return loss if is_legacy(model) else model.optimizer.scale_loss(loss)


def step_seeds(model: Any) -> Callable[[], None]:
    """Make the function with which each replica begins a step of training.

    A generator of `tf_keras` advances by what its replica draws, so by the records that it got. So
    each step begins at a place of its own, which follows from its number: nothing to keep, and the
    same wherever a training goes on. By replica TensorFlow mixes the key.
    """
    if not is_legacy(model):
        return lambda: None
    for each in _generators(model):
        each._maybe_init()  # noqa: SLF001
    states = [each._generator.state for each in _generators(model) if each._generator]  # noqa: SLF001
    first = [read(state) for state in states]
    number = model.optimizer.iterations

    def begin() -> None:
        for state, (low, _, *key) in zip(states, first, strict=True):
            # A mirrored variable without aggregation can be set in a replica by its handle alone.
            value = tf.stack([low, tf.cast(number, state.dtype), *key])
            tf.raw_ops.AssignVariableOp(resource=state.handle, value=value)

    return begin


def apply_inside(model: Any, gradients: Sequence[Any], variables: Sequence[Any]) -> None:
    """Let an optimizer of `tf_keras` add up the replicas' gradients, clip them and apply them."""
    model.optimizer.apply_gradients(zip(gradients, variables, strict=True))


def from_logits(model: Any) -> bool:
    """Whether the loss takes outputs that are no probabilities."""
    loss = model.loss
    given = loss.keywords if isinstance(loss, partial) else getattr(loss, "_fn_kwargs", {})
    return bool(getattr(loss, "from_logits", given.get("from_logits")))


def in_replica(model: Any, run: Callable[[], Any]) -> Any:
    """Do something with a model before training; `tf_keras` counts in replicas alone."""
    if not is_legacy(model):
        return run()
    strategy = tf.distribute.get_strategy()
    return strategy.experimental_local_results(strategy.run(run))[0]


# --- variables ---------------------------------------------------------------------------------


def all_layers(model: Any) -> Iterator[Any]:
    """Every layer, at any depth, also those that a layer of the user's own holds."""
    yield from model._flatten_layers(include_self=False)  # noqa: SLF001  no public way sees them all


def path_of(variable: Any) -> str:
    """What a checkpoint calls a variable."""
    if isinstance(variable, keras.Variable):
        return str(variable.path)
    return str(variable.name.removesuffix(":0"))


def read(variable: Any) -> NDArray[np.generic]:
    """The value; of metrics, which count on each replica apart, the sum: all have to ask for it."""
    if getattr(variable, "aggregation", None) is tf.VariableAggregation.MEAN:
        # tf_keras's moving averages are equal on all replicas: ask nobody for their mean.
        variable = getattr(variable, "values", (variable,))[0]
    return np.asarray(variable.numpy())


def metric_shapes(model: Any) -> dict[str, tuple[int, ...]]:
    """What the metrics answer, without reading their variables: workers add those up."""
    found: dict[str, Any] = {}
    for metric in model.metrics:
        if is_legacy(model):
            value = tf.function(metric.result).get_concrete_function().structured_outputs
        else:
            zeros = [keras.ops.zeros(v.shape, v.dtype) for v in metric.variables]
            value = metric.stateless_result(zeros)
        found |= value if isinstance(value, dict) else {metric.name: value}
    return {name: tuple(getattr(value, "shape", ())) for name, value in found.items()}


# --- layers ------------------------------------------------------------------------------------


def normalisations(model: Any) -> list[Any]:
    """The layers of batch normalisation."""
    layers = library(legacy=is_legacy(model)).layers
    kinds: tuple[Any, ...] = (layers.BatchNormalization,)
    if is_legacy(model):
        kinds += (layers.experimental.SyncBatchNormalization,)
    return [layer for layer in all_layers(model) if isinstance(layer, kinds)]


def synchronise_moments(layer: Any, *, legacy: bool) -> None:
    """Let a layer of batch normalisation add its moments up over the replicas."""
    layer.synchronized = True
    if legacy:
        layer.fused = False  # which knows nothing of other replicas
        # A replica without a record would keep its moving averages, and differ from then on.
        layer._support_zero_size_input = lambda: False  # noqa: SLF001


def _generators(model: Any) -> list[Any]:
    found = (getattr(layer, "_random_generator", None) for layer in all_layers(model))
    return list({id(each): each for each in found if each is not None}.values())


# --- what cannot be trained exactly ------------------------------------------------------------


def unsupported(model: Any, replicas: int) -> Iterator[tuple[str, str]]:
    """What a compiled model has that would not be trained exactly, and what helps.

    Args:
        model: as the user's function built it, under the strategy.
        replicas: how many train together.
    """
    if is_legacy(model):
        yield from _unsuited_legacy(model)
        if replicas > 1:
            yield from _unlike_legacy(model, f"with {replicas} replicas")


def _unsuited_legacy(model: Any) -> Iterator[tuple[str, str]]:
    tf_keras, optimizer = library(legacy=True), model.optimizer
    scales = isinstance(optimizer, tf_keras.mixed_precision.LossScaleOptimizer)
    if scales or any(layer.compute_dtype != layer.dtype for layer in all_layers(model)):
        yield "mixed precision in tf_keras", "Leave its policy alone, or use Keras 3."
    if not isinstance(optimizer, tf_keras.optimizers.Optimizer):
        name = f"{type(optimizer).__module__}.{type(optimizer).__qualname__}"
        yield f"the optimizer {name}", "Take one of tf_keras.optimizers, not of its `legacy`."
    if any(each._rng_type == each.RNG_LEGACY_STATEFUL for each in _generators(model)):  # noqa: SLF001
        yield (
            "rng_type='legacy_stateful', whose random numbers no restart can go on with",
            "Leave rng_type out, and tf_keras.backend.experimental alone.",
        )


def _unlike_legacy(model: Any, so_many: str) -> Iterator[tuple[str, str]]:
    if model.optimizer.use_ema:
        yield f"use_ema {so_many}", "Use one replica, or Keras 3."
    if any(variable.constraint is not None for variable in model.trainable_variables):
        yield f"weight constraints {so_many}", "Use one replica, or Keras 3."
    for layer in normalisations(model):
        if layer.renorm or layer.virtual_batch_size:
            what = f"renorm or virtual_batch_size of {layer.name!r}"
            yield f"{what} {so_many}", "Leave them out, or use one replica."
