"""Rebuild the model of a committed run, with its weights, in one process."""

import keras

from audioloom_trainer.errors import BadModel, DamagedRun, describe_error
from audioloom_trainer.models.build import build_model
from audioloom_trainer.models.checks import check_model
from audioloom_trainer.models.state import restore_weights
from audioloom_trainer.runs.committed_run import CommittedRun, cannot_rebuild, read_role
from audioloom_trainer.runs.npz import BadArrays, load_arrays
from audioloom_trainer.shards.shard_set import ShardSet


def rebuild(run: CommittedRun, shard_set: ShardSet) -> keras.Model:
    """Build the model from its function or architecture, and set the run's weights.

    The shards are those of the training.

    Raises:
        DamagedRun: the weights do not fit the model, or the model does not fit the shards.
        BadModel: this version of Keras cannot build the architecture.
    """
    recipe = run.opened.manifest.recipe
    if run.source is None:
        model = _of_architecture(run, shard_set)
    else:
        legacy = recipe.keras == "legacy"
        model = build_model(shard_set, run.source, recipe.model.arguments, legacy=legacy)
    try:
        restore_weights(model, load_arrays(read_role(run.opened, "weights")))
    except BadArrays as error:
        raise DamagedRun(where=run.opened.location, found=str(error)) from None
    return model


def _of_architecture(run: CommittedRun, shard_set: ShardSet) -> keras.Model:
    place = str(run.opened.folder / run.opened.files("model")[0].path)
    try:
        model = keras.saving.deserialize_keras_object(run.architecture)
    except Exception as error:  # noqa: BLE001  another version of Keras may raise anything
        raise cannot_rebuild(run.opened, describe_error(error)) from None
    try:
        check_model(model, shard_set)
    except BadModel as error:
        raise DamagedRun(where=place, expected=error.expected, found=error.found) from None
    return model
