"""Write a trained model for other programs: a `.keras` file and a SavedModel.

The SavedModel takes windows of features and returns labels and scores. Serving it needs neither
audioloom nor a list of labels.
"""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import keras
import structlog
import tensorflow as tf

from audioloom_trainer.errors import describe_error
from audioloom_trainer.models.keras_compat import is_legacy, library
from audioloom_trainer.models.predictions import class_scores
from audioloom_trainer.models.source import digest_of
from audioloom_trainer.runs.artifacts import Made, made
from audioloom_trainer.shards.shard_set import ShardSet

log = structlog.get_logger()


def model_files(model: keras.Model, feature: str, trained_on: ShardSet) -> list[Made]:
    """Return the model's files in both forms; warn of and omit a form that Keras cannot write.

    A long training must not fail for that: the run has the weights anyway.
    """
    with tempfile.TemporaryDirectory(prefix="audioloom-model-") as scratch:
        keras_file, folder = Path(scratch, "model.keras"), Path(scratch, "saved-model")
        files = []
        if _written(".keras", model.save, keras_file):
            files.append(made("keras", keras_file.read_bytes(), "model/keras", ".keras"))
        given = {"feature": feature, "shape": trained_on.shape, "labels": trained_on.labels}
        if _written("SavedModel", write_saved_model, model, folder, **given):
            paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
            inside = {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
            place = f"model/saved-model-{digest_of(inside)[:12]}"
            files += [made("saved-model", data, f"{place}/{n}") for n, data in inside.items()]
    return files


def _written(form: str, write: Callable[..., object], *what: Any, **given: Any) -> bool:
    try:
        write(*what, **given)
    except Exception as error:  # noqa: BLE001  the user's own get_config may raise anything
        hint = "Give its classes a get_config()." if form == ".keras" else ""
        log.warning(
            "the model could not be written", form=form, found=describe_error(error, 200), hint=hint
        )
        return False
    return True


def write_saved_model(
    model: keras.Model, target: Path, *, feature: str, shape: Sequence[int], labels: Sequence[str]
) -> None:
    """Write a SavedModel folder with one signature, `serving_default`, also called `serve`.

    It takes *feature*, float32 (windows, *shape), and returns for each window ``label`` (string),
    ``label_id`` (int32) and ``scores`` (float32, the model's output for each label). Without labels
    it returns ``target`` (float32), the predicted number. The labels are in the order of the
    model's outputs.
    """

    def serve(windows: Any) -> dict[str, Any]:
        outputs = tf.cast(model(windows, training=False), tf.float32)
        if not labels:
            return {"target": outputs[:, 0]}
        scores = class_scores(model, outputs, len(labels))
        predicted = tf.argmax(scores, axis=1, output_type=tf.int32)
        return {
            "label": tf.gather(list(labels), predicted),
            "label_id": predicted,
            "scores": scores,
        }

    legacy = is_legacy(model)
    archive = library(legacy=legacy).export.ExportArchive()
    archive.track(model)
    signature = [tf.TensorSpec((None, *shape), tf.float32, name=feature)]
    archive.add_endpoint(name="serve", fn=serve, input_signature=signature)
    archive.write_out(str(target), **({} if legacy else {"verbose": False}))
