"""Build the user's model: load the function, call it and check the result."""

import importlib
import importlib.util
import inspect
import json
import sys
from collections.abc import Mapping
from typing import Any

import keras
import numpy as np
import structlog
from audioloom_stage.arguments import with_secrets

from audioloom_trainer.errors import BadModel, describe_error
from audioloom_trainer.models.batch_norm import synchronise
from audioloom_trainer.models.checks import check_model
from audioloom_trainer.models.source import ModelSource
from audioloom_trainer.shards.shard_set import ShardSet

log = structlog.get_logger()

_CALLED = "The function takes shape and classes by name, and each --model-arg."
_BETWEEN_WORKERS = "CollectiveBcast"  # TensorFlow's operation that sends a new weight
_MIXED = (
    "TensorFlow cannot hand weights of this type from worker to worker: use the policy"
    " mixed_bfloat16, which keeps them in float32, or one worker."
)


def build_model(
    shard_set: ShardSet,
    source: ModelSource,
    arguments: Mapping[str, Any],
    *,
    replicas: int = 1,
    legacy: bool = False,
) -> keras.Model:
    """Call the user's function under the strategy's scope and check the model.

    A function with parameters `mean` and `variance` gets those of the coefficients in train,
    float32 (coefficients,) each, in the form of `keras.layers.Normalization(axis=1)`.

    Returns:
        The compiled model with all variables, also those of optimizer and metrics, and with
        synchronised BatchNormalization.

    Raises:
        BadModel: names the fault of the model.
        BadConfiguration: the variable of a secret is not set.
    """
    function = load_function(source)
    given = {"shape": shard_set.shape, "classes": shard_set.classes, **arguments}
    secrets, coefficients = with_secrets(arguments), shard_set.coefficients
    moments: dict[str, Any] = {}
    try:
        if coefficients is not None:
            known = {"mean": coefficients.mean, "variance": coefficients.variance}
            asked = inspect.signature(function).parameters.keys() & known.keys()
            moments = {name: np.array(known[name], np.float32) for name in asked}
        model = function(**moments | given | secrets)
    except Exception as error:
        call = ", ".join(f"{name}={value!r}" for name, value in given.items())
        raise BadModel(
            where=source.line_of(error),
            expected=f"a compiled model from {source.function}({call})",
            found=describe_error(error),
            hint=_MIXED if _BETWEEN_WORKERS in str(error) else _CALLED,
        ) from error
    try:
        check_model(model, shard_set, replicas=replicas, legacy=legacy)
        synchronise(model, shard_set.shape, replicas=replicas)
    except BadModel as error:
        cause = error.__cause__  # of the user's own code that failed, in a layer or a loss
        error.where = source.place if cause is None else source.line_of(cause)
        raise
    model.optimizer.build(model.trainable_variables)
    return model


def configuration(model: keras.Model) -> dict[str, Any]:
    """Return Keras's configuration of the model, without weights; {} if Keras cannot write it."""
    try:
        found: dict[str, Any] = json.loads(model.to_json())
        json.dumps(found, allow_nan=False)
    except Exception as error:  # noqa: BLE001  the user's own get_config may raise anything
        log.warning(
            "Keras cannot write this model: no configuration", found=describe_error(error, 200)
        )
        return {}
    return found


def load_function(source: ModelSource) -> Any:
    """Import the module of *source*, once, and return its function; BadModel if that fails."""
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
            if len(source.files) > 1 and str(source.path.parent) not in sys.path:
                sys.path.append(str(source.path.parent))  # installed modules come first
            spec.loader.exec_module(module)
    except Exception as error:
        raise BadModel(
            where=source.line_of(error),
            expected="a Python file that can be imported",
            found=describe_error(error),
            hint="What such a file imports has to be installed in this environment, or to lie"
            " beside it."
            if isinstance(error, ModuleNotFoundError)
            else "",
        ) from error
    function = getattr(module, source.function, None)
    if not callable(function):
        names = sorted(
            name
            for name, value in vars(module).items()
            if getattr(value, "__module__", "") == module.__name__
            and callable(value)
            and not name.startswith("_")
        )
        raise BadModel(
            where=source.path,
            expected=f"a function {source.function!r}",
            found=f"the functions {', '.join(names[:20]) or 'none'}",
        )
    return function
