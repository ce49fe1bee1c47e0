"""Write a trained model for other programs: a `.keras` file and a SavedModel.

The SavedModel takes windows of features and returns labels and scores. Serving it needs neither
audioloom nor a list of labels.
"""

import hashlib
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import keras
import structlog
import tensorflow as tf
from audioloom_manifest.envelope import FileEntry

from audioloom_trainer.errors import describe_error
from audioloom_trainer.models.keras_compat import is_legacy, library
from audioloom_trainer.models.predictions import class_scores
from audioloom_trainer.runs.artifacts import entry_of
from audioloom_trainer.shards.shard_set import ShardSet

log = structlog.get_logger()


def model_files(
    model: keras.Model, feature: str, trained_on: ShardSet
) -> list[tuple[FileEntry, bytes]]:
    """Return the model's files in both forms; warn of and omit a form that Keras cannot write.

    A long training must not fail for that: the run has the weights anyway.
    """
    with tempfile.TemporaryDirectory(prefix="audioloom-model-") as scratch:
        keras_file, folder = Path(scratch, "model.keras"), Path(scratch, "saved-model")
        files = []
        if _written(".keras", model.save, keras_file):
            data = keras_file.read_bytes()
            files.append((entry_of("model/", "keras", "keras", data), data))
        given = {"feature": feature, "shape": trained_on.shape, "labels": trained_on.labels}
        if _written("SavedModel", write_saved_model, model, folder, **given):
            files += _files_of(folder)
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


def _files_of(folder: Path) -> list[tuple[FileEntry, bytes]]:
    """Return the files of a SavedModel, below a folder that is named by their content."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
    digests = {name: hashlib.sha256(data) for name, data in files.items()}
    whole = hashlib.sha256()
    for name, digest in digests.items():
        whole.update(name.encode() + b"\0" + digest.digest())
    made = []
    for name, data in files.items():
        path = f"model/saved-model-{whole.hexdigest()[:12]}/{name}"
        sha256 = digests[name].hexdigest()
        entry = FileEntry(path=path, bytes=len(data), sha256=sha256, role="saved-model")
        made.append((entry, data))
    return made


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
