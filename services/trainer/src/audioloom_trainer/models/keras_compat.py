"""The differences between Keras 3 and "legacy", the older Keras of `tf_keras`.

All other code works with models of both.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray


def library(*, legacy: bool) -> Any:
    """Return the Keras package of the models; `tf_keras` is imported only if asked for."""
    if not legacy:
        return keras
    import tf_keras  # noqa: PLC0415

    return tf_keras


def is_legacy(model: Any) -> bool:
    """Return whether a model of either Keras is one of `tf_keras`."""
    return not isinstance(model, keras.Model)


def compute_loss(
    model: Any, x: Any, y: Any, predictions: Any, weights: Any = None, *, training: bool = True
) -> Any:
    """Compute the mean loss plus the layers' losses, both divided by the number of replicas."""
    if is_legacy(model):
        return model.compute_loss(x, y, predictions, weights)
    return model.compute_loss(x, y, predictions, weights, training=training)


def update_metrics(model: Any, x: Any, y: Any, predictions: Any, weights: Any = None) -> None:
    """Update the metrics that the model was compiled with."""
    if is_legacy(model):  # its compute_metrics() adds up over the replicas at every step
        model.compiled_metrics.update_state(y, predictions, weights)
    else:
        model.compute_metrics(x, y, predictions, weights)


def step_seeds(model: Any) -> Callable[[], None]:
    """Make the function that sets the random state of each replica before a training step.

    A generator of `tf_keras` advances with the number of records of its replica. So each step sets
    a state that depends only on the step's number: no checkpoint must hold it, and a resumed
    training draws the same numbers. TensorFlow mixes the replica into the key.
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
            # Inside a replica, a mirrored variable without aggregation can be set only by handle.
            value = tf.stack([low, tf.cast(number, state.dtype), *key])
            tf.raw_ops.AssignVariableOp(resource=state.handle, value=value)

    return begin


def from_logits(model: Any) -> bool:
    """Return whether the loss takes logits instead of probabilities."""
    loss = model.loss
    given = loss.keywords if isinstance(loss, partial) else getattr(loss, "_fn_kwargs", {})
    return bool(getattr(loss, "from_logits", given.get("from_logits")))


def in_replica(model: Any, run: Callable[[], Any]) -> Any:
    """Call *run* for a model before training; metrics of `tf_keras` need a replica context."""
    if not is_legacy(model):
        return run()
    strategy = tf.distribute.get_strategy()
    return strategy.experimental_local_results(strategy.run(run))[0]


def path_of(variable: Any) -> str:
    """Return a variable's name in checkpoints."""
    if isinstance(variable, keras.Variable):
        return str(variable.path)
    return str(variable.name.removesuffix(":0"))


def read(variable: Any) -> NDArray[np.generic]:
    """Read a variable; a metric's value is a sum over replicas, so all workers must call it."""
    if getattr(variable, "aggregation", None) is tf.VariableAggregation.MEAN:
        # tf_keras's moving averages are equal on all replicas, so no collective is needed.
        variable = getattr(variable, "values", (variable,))[0]
    return np.asarray(variable.numpy())


def metric_shapes(model: Any) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the metrics' results, without the collective that reads variables."""
    found: dict[str, Any] = {}
    for metric in model.metrics:
        if is_legacy(model):
            value = tf.function(metric.result).get_concrete_function().structured_outputs
        else:
            zeros = [keras.ops.zeros(v.shape, v.dtype) for v in metric.variables]
            value = metric.stateless_result(zeros)
        found |= value if isinstance(value, dict) else {metric.name: value}
    return {name: tuple(getattr(value, "shape", ())) for name, value in found.items()}


def normalisations(model: Any) -> list[Any]:
    """Return the layers of batch normalisation."""
    layers = library(legacy=is_legacy(model)).layers
    kinds: tuple[Any, ...] = (layers.BatchNormalization,)
    if is_legacy(model):
        kinds += (layers.experimental.SyncBatchNormalization,)
    return [layer for layer in _all_layers(model) if isinstance(layer, kinds)]


def synchronise_moments(layer: Any, *, legacy: bool) -> None:
    """Make a layer of batch normalisation sum its moments over the replicas."""
    layer.synchronized = True
    if legacy:
        layer.fused = False  # the fused kernel ignores other replicas
        # Otherwise a replica without a record would not update its moving averages and differ.
        layer._support_zero_size_input = lambda: False  # noqa: SLF001


def _all_layers(model: Any) -> list[Any]:
    """Return every layer at any depth, also inside the user's own layers."""
    return list(model._flatten_layers(include_self=False))  # noqa: SLF001  no public API lists all


def _generators(model: Any) -> list[Any]:
    found = (getattr(layer, "_random_generator", None) for layer in _all_layers(model))
    return list({id(each): each for each in found if each is not None}.values())


def unsupported(model: Any, replicas: int) -> Iterator[tuple[str, str]]:
    """Yield the features of a model of `tf_keras` that cannot be trained exactly, with a remedy."""
    tf_keras, optimizer = library(legacy=True), model.optimizer
    scales = isinstance(optimizer, tf_keras.mixed_precision.LossScaleOptimizer)
    if scales or any(layer.compute_dtype != layer.dtype for layer in _all_layers(model)):
        yield "mixed precision in tf_keras", "Leave its policy alone, or use Keras 3."
    if not isinstance(optimizer, tf_keras.optimizers.Optimizer):
        name = f"{type(optimizer).__module__}.{type(optimizer).__qualname__}"
        yield f"the optimizer {name}", "Take one of tf_keras.optimizers, not of its `legacy`."
    if any(each._rng_type == each.RNG_LEGACY_STATEFUL for each in _generators(model)):  # noqa: SLF001
        yield (
            "rng_type='legacy_stateful', whose random numbers no restart can go on with",
            "Leave rng_type out, and tf_keras.backend.experimental alone.",
        )
    if replicas == 1:
        return
    if optimizer.use_ema:
        yield f"use_ema with {replicas} replicas", "Use one replica, or Keras 3."
    if any(variable.constraint is not None for variable in model.trainable_variables):
        yield f"weight constraints with {replicas} replicas", "Use one replica, or Keras 3."
    for layer in normalisations(model):
        if layer.renorm or layer.virtual_batch_size:
            what = f"renorm or virtual_batch_size of {layer.name!r} with {replicas} replicas"
            yield what, "Leave them out, or use one replica."
