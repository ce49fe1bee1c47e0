"""A SavedModel for whoever has TensorFlow and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

SHAPE = (2, 3)
WINDOWS = np.random.Generator(np.random.PCG64(2)).normal(size=(7, *SHAPE)).astype(np.float32)

pytestmark = pytest.mark.usefixtures("tensorflow")


def written(folder: Path, outputs: int, activation: str | None, loss: Any, *labels: str) -> Any:
    """What a signature answers, and what the model does."""
    import keras
    import tensorflow as tf
    from audioloom_trainer.runs.exported_model import write_saved_model

    keras.utils.set_random_seed(4)
    layers = [keras.layers.Flatten(), keras.layers.Dense(outputs, activation)]
    model = keras.Sequential([keras.Input(SHAPE), *layers])
    model.compile("sgd", loss)
    write_saved_model(model, folder / "model", feature="mfcc", shape=SHAPE, labels=labels)
    signature = tf.saved_model.load(str(folder / "model")).signatures["serving_default"]
    found = {name: value.numpy() for name, value in signature(mfcc=WINDOWS).items()}
    return found, np.asarray(model(WINDOWS))


def test_a_number_is_called_target(tmp_path: Path) -> None:
    """One for each window, and nothing of labels."""
    found, expected = written(tmp_path, 1, None, "mse")
    assert ["target"] == list(found)
    np.testing.assert_allclose(found["target"], expected[:, 0], rtol=0, atol=1e-6)


@pytest.mark.parametrize("logits", [False, True])
def test_a_single_output_is_that_of_the_second_label(tmp_path: Path, *, logits: bool) -> None:
    """Both labels have a score, whether outputs are probabilities or logits."""
    import keras

    activation = None if logits else "sigmoid"
    loss = keras.losses.BinaryCrossentropy(from_logits=logits)
    found, outputs = written(tmp_path, 1, activation, loss, "no", "yes")
    expected = outputs[:, 0] > (0.0 if logits else 0.5)
    assert {False, True} == set(expected.tolist())
    assert expected.tolist() == [label == b"yes" for label in found["label"]]
    assert expected.tolist() == found["label_id"].astype(bool).tolist()
    first = np.zeros(len(outputs)) if logits else 1 - outputs[:, 0]
    columns = np.stack([first, outputs[:, 0]], axis=1)
    np.testing.assert_allclose(found["scores"], columns, rtol=0, atol=1e-6)


def test_labels_are_what_they_are(tmp_path: Path) -> None:
    """Any text comes back as it was."""
    labels = ("wütend", "glad & <b>", "")
    found, outputs = written(tmp_path, 3, "softmax", "sparse_categorical_crossentropy", *labels)
    said = [labels[number].encode() for number in outputs.argmax(axis=1)]
    assert said == found["label"].tolist()
    np.testing.assert_allclose(found["scores"], outputs, rtol=0, atol=1e-6)
