"""The model of a committed run, in one process, with its weights."""

from __future__ import annotations

from typing import Any

import keras

from audioloom_trainer.arrays import BadArrays, load_arrays
from audioloom_trainer.errors import DamagedRun
from audioloom_trainer.finished import FinishedRun, read_role
from audioloom_trainer.model import build_model
from audioloom_trainer.shards import ShardSet
from audioloom_trainer.state import restore_weights

__all__ = ["rebuild"]


def rebuild(run: FinishedRun, shard_set: ShardSet) -> keras.Model:
    """Call the model function again and set the run's weights.

    Args:
        run: the run.
        shard_set: that it was trained on, for the shape, the classes and the coefficients.

    Raises:
        DamagedRun: the weights do not fit the model.
    """
    recipe = run.opened.manifest.recipe
    arguments: dict[str, Any] = dict(recipe.model.arguments)
    model = build_model(
        run.source,
        shape=shard_set.shape,
        classes=shard_set.classes,
        arguments=arguments,
        replicas=1,
        coefficients=shard_set.coefficients,
        legacy=recipe.keras == "legacy",
    )
    try:
        restore_weights(model, load_arrays(read_role(run.opened, "weights")))
    except BadArrays as error:
        raise DamagedRun(where=run.opened.location, found=str(error)) from None
    return model
