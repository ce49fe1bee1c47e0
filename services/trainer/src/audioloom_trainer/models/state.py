"""The variables of a model, its optimizer and its metrics, by kind and as named arrays.

The arrays are a flat list in Keras's order. `tf.train.Checkpoint` would silently leave out the
states of Keras's random generators, and a resumed Dropout would differ.
"""

from collections.abc import Mapping
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from audioloom_trainer.errors import DamagedRun
from audioloom_trainer.models.keras_compat import normalisations, path_of, read

Arrays = dict[str, NDArray[np.generic]]


def seed_state(model: keras.Model) -> list[Any]:
    """Return the states of Keras 3's random generators, such as Dropout's; none in tf_keras."""
    return [v for v in model.variables if v.name == "seed_generator_state"]


def other_state(model: keras.Model) -> list[Any]:
    """Return the other changing variables: no trained weights, seeds or batch normalisation."""
    known = {id(v) for v in (*model.trainable_variables, *seed_state(model), *metric_state(model))}
    for layer in normalisations(model):
        known |= {id(v) for v in layer.variables}
    return [v for v in model.weights if id(v) not in known]


def metric_state(model: keras.Model) -> list[Any]:
    """Return the states of the model's metrics."""
    return [variable for metric in model.metrics for variable in metric.variables]


def snapshot(model: keras.Model) -> Arrays:
    """Return the state of a training; all workers must call it, as it sums their metrics."""
    return {name: read(variable) for name, variable in _named(model).items()}


def restore(strategy: Any, model: keras.Model, arrays: Mapping[str, NDArray[np.generic]]) -> None:
    """Restore the state from `snapshot`; only the first replica gets the metrics' sums.

    Raises:
        DamagedRun: number, name or shape of the variables differ.
    """
    named = _named(model)
    if len(arrays) != len(named):
        raise DamagedRun(expected=f"{len(named)} variables", found=f"{len(arrays)} saved ones")
    values = {name: fitting(variable, name, arrays.get(name)) for name, variable in named.items()}
    sums = {id(variable) for variable in metric_state(model)}
    with strategy.scope():
        for name, variable in named.items():
            if id(variable) not in sums:
                variable.assign(values[name])
    metrics = [(v, values[name]) for name, v in named.items() if id(v) in sums]

    def place() -> None:
        number = tf.distribute.get_replica_context().replica_id_in_sync_group
        for variable, value in metrics:
            variable.assign(tf.cast(tf.equal(number, 0), variable.dtype) * value)

    if metrics:
        tf.function(lambda: strategy.run(place))()


def weights(model: keras.Model) -> Arrays:
    """Return only the weights, for the files of a finished run."""
    return {_name("weight", i, v): read(v) for i, v in enumerate(model.weights)}


def restore_weights(model: keras.Model, arrays: Mapping[str, NDArray[np.generic]]) -> None:
    """Restore the weights from `weights`, or from a `snapshot` of a model of the same function.

    Raises:
        DamagedRun: the weights are those of another model.
    """
    left: dict[str, list[NDArray[np.generic]]] = {}
    for name in sorted(arrays):
        left.setdefault(_end(name.partition("/")[2]), []).append(arrays[name])
    for variable in model.weights:
        path = path_of(variable)
        found = left.get(_end(path))
        variable.assign(fitting(variable, path, found.pop(0) if found else None))


def _named(model: keras.Model) -> dict[str, Any]:
    every = (*model.variables, *model.optimizer.variables, *metric_state(model))
    different = {id(variable): variable for variable in every}.values()
    return {_name("state", i, v): v for i, v in enumerate(different)}


def _name(kind: str, number: int, variable: Any) -> str:
    return f"{kind}-{number:05}/{path_of(variable)}"


def _end(path: str) -> str:
    """Shorten a path to layer and variable: that of outer layers is not stable.

    From a configuration, Keras may build a layer before its outer layer and omits that name.
    """
    return "/".join(path.split("/")[-2:])


def fitting(variable: Any, name: str, found: NDArray[np.generic] | None) -> NDArray[np.generic]:
    """Return saved values as a variable's type; DamagedRun if they have another shape."""
    if found is None or found.shape != tuple(variable.shape):
        raise DamagedRun(
            where=name,
            expected=f"values of shape {tuple(variable.shape)}",
            found="none" if found is None else f"values of shape {found.shape}",
            hint="The model's code has changed since, or --model, --model-arg and --keras are not"
            " those that were given to run.",
        )
    # The file has raw bytes of an extension type, such as bfloat16.
    kind = np.dtype(tf.as_dtype(variable.dtype).as_numpy_dtype)
    return found.view(kind) if found.dtype.kind == "V" else found
