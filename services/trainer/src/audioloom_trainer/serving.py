"""A trained model as a SavedModel: windows as the features lie in, labels and scores out.

Whoever serves it needs neither audioloom nor a list of labels beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from audioloom_trainer.loop import class_scores

__all__ = ["write_saved_model"]


def write_saved_model(
    model: keras.Model, target: Path, *, feature: str, shape: Sequence[int], labels: Sequence[str]
) -> None:
    """Write a SavedModel folder with one signature, `serving_default`, also called `serve`.

    It takes *feature*, float32 (windows, *shape), and answers of each window ``label`` (string),
    ``label_id`` (int32) and ``scores`` (float32, one for each label, as the model's output layer
    gives them); without labels ``target`` (float32), the number that was learned.

    Args:
        model: built, with its weights.
        target: a folder that does not exist yet.
        feature: name of the feature, which is the input's.
        shape: of one window.
        labels: in the order of the model's outputs; none where a number is learned.
    """

    def serve(windows: Any) -> dict[str, Any]:
        outputs = tf.cast(model(windows, training=False), tf.float32)
        if not labels:
            return {"target": outputs[:, 0]}
        scores = class_scores(model, outputs, len(labels))
        said = tf.argmax(scores, axis=1, output_type=tf.int32)
        return {"label": tf.gather(list(labels), said), "label_id": said, "scores": scores}

    archive = keras.export.ExportArchive()
    archive.track(model)
    signature = [tf.TensorSpec((None, *shape), tf.float32, name=feature)]
    archive.add_endpoint(name="serve", fn=serve, input_signature=signature)
    archive.write_out(str(target), verbose=False)
