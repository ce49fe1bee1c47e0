"""`export`: a model that is used without audioloom, and gives the same answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from audioloom_manifest.reader import Opened, read_manifest
from audioloom_trainer.runs.npz import load_arrays
from shard_maker import SHAPE
from trainer_program import ZOO, Trained, Trainer

pytestmark = pytest.mark.usefixtures("tensorflow")

WINDOWS = np.random.Generator(np.random.PCG64(1)).normal(size=(5, *SHAPE)).astype(np.float32)


@pytest.fixture
def own(trainer: Trainer, trained: Trained, tmp_path: Path) -> Opened[Any]:
    """A run whose model Keras cannot write by its configuration."""
    words = ("--epochs", 1, "--model", f"{ZOO}:own_class", "--root", tmp_path, "--name", "own")
    ran = trainer("run", trained.root / "shards" / "demo", *words)
    assert 0 == ran.code, ran.err
    assert "get_config" in ran.err
    return read_manifest(ran.out.strip(), "training-run")


def answers(run: Opened[Any]) -> np.ndarray:
    """What the run's model says of the windows, from the weights that it kept."""
    import keras
    from audioloom_trainer.networks import conv1d

    data = Path(run.folder.path, run.files("weights")[0].path).read_bytes()
    model = conv1d(SHAPE, 3, filters=4)
    model.set_weights(list(load_arrays(data).values()))
    return keras.ops.convert_to_numpy(model(WINDOWS, training=False))


def test_nothing_is_overwritten(trainer: Trainer, trained: Trained, tmp_path: Path) -> None:
    """Exit code 73; the labels of another run of that name are kept too."""
    name = trained.run.manifest.name
    (tmp_path / name).mkdir()
    ran = trainer("export", trained.run.folder, "--to", tmp_path, "--format", "saved-model")
    assert 73 == ran.code
    (tmp_path / f"{name}.labels.json").write_text('{"run": "sha256:another"}')
    ran = trainer("export", trained.run.folder, "--to", tmp_path)
    assert 73 == ran.code
    assert f"{name}.labels.json" in ran.err
    assert {name, f"{name}.labels.json"} == {path.name for path in tmp_path.iterdir()}


@pytest.mark.parametrize("form", ["keras", "saved-model"])
def test_an_export_that_is_there_already_is_done(
    trainer: Trainer, trained: Trained, tmp_path: Path, form: str
) -> None:
    """The same command again is no failure; what somebody changed since is not taken for it."""
    words = ("export", trained.run.folder, "--to", tmp_path, "--format", form, "--json")
    first, again = trainer(*words), trainer(*words)
    assert (0, False) == (first.code, first.data["already_exported"])
    assert (0, True) == (again.code, again.data["already_exported"]), again.err
    assert {**first.data, "already_exported": True} == again.data
    assert "already exported" in again.err
    target = Path(again.data["model"])
    changed = target if form == "keras" else target / "saved_model.pb"
    changed.write_bytes(flip(changed.read_bytes()))
    assert 73 == trainer(*words).code
    changed.write_bytes(flip(changed.read_bytes()))
    assert 0 == trainer(*words).code
    if form == "saved-model":
        (target / "notes").touch()
        assert 73 == trainer(*words).code


def flip(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


def test_only_this_machine_is_exported_to(trainer: Trainer, trained: Trained) -> None:
    """A folder called hdfs: would be a surprise."""
    ran = trainer("export", trained.run.folder, "--to", "hdfs://namenode/models")
    assert 2 == ran.code
    assert "hdfs://namenode/models" in ran.err


def test_a_changed_model_is_not_copied(trainer: Trainer, trained: Trained, tmp_path: Path) -> None:
    """Nor is a part of it."""
    run = trained.copy(tmp_path / "root").run
    entry = max(run.files("saved-model"), key=lambda entry: entry.bytes)
    Path(run.folder.path, entry.path).write_bytes(b"another model")
    ran = trainer("export", run.folder, "--to", tmp_path / "out", "--format", "saved-model")
    assert 65 == ran.code
    assert entry.path in ran.err
    assert [] == list((tmp_path / "out").iterdir())


def test_what_keras_cannot_write_is_told(
    trainer: Trainer, own: Opened[Any], tmp_path: Path
) -> None:
    """The run is committed all the same, and has the other format."""
    words = ("export", own.folder, "--to", tmp_path / "out")
    ran = trainer(*words)
    assert 78 == ran.code
    assert "--format saved-model" in ran.err
    assert not (tmp_path / "out").exists()
    assert 0 == trainer(*words, "--format", "saved-model").code


@pytest.mark.filterwarnings("ignore:__array__ implementation doesn't:DeprecationWarning")
def test_a_keras_file_gives_the_same_answers(
    trainer: Trainer, trained: Trained, tmp_path: Path
) -> None:
    """Loaded by Keras alone."""
    import keras

    ran = trainer("export", trained.run.folder, "--to", tmp_path)
    assert 0 == ran.code, ran.err
    loaded = keras.saving.load_model(ran.out.strip())
    found = keras.ops.convert_to_numpy(loaded(WINDOWS, training=False))
    np.testing.assert_allclose(found, answers(trained.run), rtol=0, atol=1e-6)


def test_a_saved_model_gives_the_same_answers(
    trainer: Trainer, trained: Trained, tmp_path: Path
) -> None:
    """Loaded by TensorFlow alone, for any number of windows."""
    import tensorflow as tf

    words = ("--to", tmp_path, "--format", "saved-model", "--json")
    ran = trainer("export", trained.run.folder, *words)
    assert 0 == ran.code, ran.err
    loaded = tf.saved_model.load(ran.data["model"])
    expected = answers(trained.run)
    signature = loaded.signatures["serving_default"]
    assert ["mfcc"] == list(signature.structured_input_signature[1])
    for found in (loaded.serve(WINDOWS), signature(mfcc=WINDOWS)):
        np.testing.assert_allclose(found["scores"].numpy(), expected, rtol=0, atol=1e-6)
        assert expected.argmax(axis=1).tolist() == found["label_id"].numpy().tolist()
        labels = [("calm", "glad", "sad")[number] for number in expected.argmax(axis=1)]
        assert labels == [label.decode() for label in found["label"].numpy()]
    meaning = json.loads(Path(ran.data["labels"]).read_text())
    assert ["calm", "glad", "sad"] == meaning["labels"]
    assert {"name": "mfcc", "shape": list(SHAPE), "dtype": "float32"} == meaning["feature"]
    assert trained.run.manifest.identity == meaning["run"]
