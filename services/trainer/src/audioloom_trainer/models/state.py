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


Arrays = dict[str, NDArray[np.generic]]


def snapshot(model: keras.Model) -> Arrays:
    """Return the state of a training; all workers must call it, as it sums their metrics."""
    return {name: read(variable) for name, variable in _named(model).items()}


def restore(strategy: Any, model: keras.Model, arrays: Mapping[str, NDArray[np.generic]]) -> None:
    """Restore the state from `snapshot`; only the first replica gets the metrics' sums.

    Raises:
        DamagedRun: number, name or shape of the variables differ.
    """
    named = _named(model)
    _check(named, arrays)
    sums = {id(variable) for variable in metric_state(model)}
    with strategy.scope():
        for name, variable in named.items():
            if id(variable) not in sums:
                variable.assign(_as(variable, arrays[name]))
    metrics = [(v, _as(v, arrays[name])) for name, v in named.items() if id(v) in sums]

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
    """Restore the weights from `weights`.

    Raises:
        DamagedRun: the weights are those of another model.
    """
    named = {_end(_name("weight", i, v)): v for i, v in enumerate(model.weights)}
    values = {_end(name): array for name, array in arrays.items()}
    _check(named, values)
    for name, variable in named.items():
        variable.assign(_as(variable, values[name]))


def restore_weights_of(model: keras.Model, state: Mapping[str, NDArray[np.generic]]) -> None:
    """Restore only the weights from a `snapshot` of another model of the same function.

    Raises:
        DamagedRun: the weights are those of another function's model.
    """
    left: dict[str, list[NDArray[np.generic]]] = {}
    for name in sorted(state):
        left.setdefault(name.partition("/")[2], []).append(state[name])
    for variable in model.weights:
        path = path_of(variable)
        found = left[path].pop(0) if left.get(path) else None
        if found is None or found.shape != tuple(variable.shape):
            raise DamagedRun(
                where=path,
                expected=f"values of shape {tuple(variable.shape)}",
                found="none" if found is None else f"values of shape {found.shape}",
                hint="Give --model, --model-arg and --keras as they were given to run.",
            )
        variable.assign(_as(variable, found))


def _named(model: keras.Model) -> dict[str, Any]:
    found: dict[int, Any] = {}
    for variable in (*model.variables, *model.optimizer.variables, *metric_state(model)):
        found.setdefault(id(variable), variable)
    return {_name("state", i, v): v for i, v in enumerate(found.values())}


def _name(kind: str, number: int, variable: Any) -> str:
    return f"{kind}-{number:05}/{path_of(variable)}"


def _end(name: str) -> str:
    """Shorten a name to number, layer and variable: the path of outer layers is not stable.

    From a configuration, Keras may build a layer before its outer layer and omits that name.
    """
    number, *path = name.split("/")
    return "/".join([number, *path[-2:]])


def _as(variable: Any, array: NDArray[np.generic]) -> NDArray[np.generic]:
    """View raw bytes as the variable's extension type, such as bfloat16, lost in the file."""
    kind = np.dtype(tf.as_dtype(variable.dtype).as_numpy_dtype)
    return array.view(kind) if array.dtype.kind == "V" else array


def _check(named: Mapping[str, Any], arrays: Mapping[str, NDArray[np.generic]]) -> None:
    for name, variable in named.items():
        found = arrays[name].shape if name in arrays else None
        if found != tuple(variable.shape):
            raise DamagedRun(
                where=name,
                expected=f"values of shape {tuple(variable.shape)}",
                found="none" if found is None else f"values of shape {found}",
                hint="The model's code has changed since the values were saved.",
            )
    if len(arrays) != len(named):
        raise DamagedRun(expected=f"{len(named)} variables", found=f"{len(arrays)} saved ones")
