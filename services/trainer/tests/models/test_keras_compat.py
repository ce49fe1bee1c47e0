"""Models of the older Keras, in the same loop as those of Keras 3: `--keras legacy`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from audioloom_manifest.kinds import TrainingRunManifest
from audioloom_manifest.reader import Opened
from audioloom_stage.errors import BadConfiguration
from audioloom_trainer.errors import BadModel
from audioloom_trainer.models.build import build_model
from audioloom_trainer.models.source import find_model
from audioloom_trainer.runs.npz import load_arrays
from audioloom_trainer.shards.shard_set import ShardSet
from shard_maker import LABELS, SHAPE, make_shards
from trainer_program import OLDER, ZOO, Trainer
from trainer_workers import NETWORK, ForkServer, Weights, bytes_of, difference, run_of, weights_of

MODEL = ("--model", f"{OLDER}:dense")
LEGACY = (*MODEL, "--keras", "legacy")

# All that the loop does about a loss and its gradients; the last batch holds a single record.
EVERYTHING = [f"--model-arg={each}" for each in ("batchnorm=true", "l2=0.01", "clipnorm=0.05")]
ALIKE = (*EVERYTHING, "--model-arg=drawn=true", "--batch-size", 5, "--epochs", 2)
EXACT, NORMALISED = 1e-6, 5e-5
KILLED = -9


@pytest.fixture
def legacy(tensorflow: None) -> None:
    """TensorFlow, with the older Keras beside it."""
    from audioloom_trainer.distributed.strategy import set_up_legacy

    set_up_legacy(0)


def build(file: Path, name: str, *, replicas: int = 1, legacy: bool = True) -> Any:
    shard_set = ShardSet(SHAPE, "float32", LABELS, {})
    source = find_model(f"{file}:{name}")
    return build_model(shard_set, source, {}, replicas=replicas, legacy=legacy)


@pytest.mark.usefixtures("legacy")
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("not_compiled", "a compiled model with an optimizer, found one without"),
        ("no_loss", "one loss, found no loss"),
        ("loss_without_reduction", "reduction='none'"),
        ("metric_of_three", r"one number each, found 'per_class' of shape \(3,\)"),
        ("own_step", r"OwnStep overrides train_step\(\)"),
        ("transposed", r"found one that takes \(20, 6\)"),
        ("older_optimizer", r"the optimizer tf_keras\..*\.legacy\.adam\.Adam"),
        ("scaled_loss", "mixed precision in tf_keras"),
        ("half_precision", "mixed precision in tf_keras"),
        ("forgetful_dropout", "rng_type='legacy_stateful'"),
    ],
)
def test_what_cannot_be_trained_is_refused(name: str, text: str) -> None:
    """By the file and the function, before a step is made."""
    with pytest.raises(BadModel, match=text) as caught:
        build(OLDER, name)
    assert caught.value.where.startswith(str(OLDER))


@pytest.mark.usefixtures("legacy")
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("averages", "use_ema"),
        ("constrained", "weight constraints"),
        ("renormalises", "renorm or virtual_batch_size of 'batch_normalization.*'"),
        ("counts_batches", "the state '.*seen' of type float32"),
    ],
)
def test_what_several_replicas_would_not_train_alike_is_refused(name: str, text: str) -> None:
    """One replica may."""
    assert build(OLDER, name).built
    with pytest.raises(BadModel, match=f"{text} with 2 replicas"):
        build(OLDER, name, replicas=2)


@pytest.mark.usefixtures("legacy")
def test_a_loss_of_logits_is_known() -> None:
    """tf_keras does not say so where Keras 3 does; nor does it say which reduction it takes."""
    from audioloom_trainer.models.keras_compat import from_logits

    assert [False, True] == [from_logits(build(OLDER, name)) for name in ("dense", "logits")]


@pytest.mark.usefixtures("legacy")
def test_a_model_of_the_other_keras_is_refused() -> None:
    """With the flag that would take it."""
    with pytest.raises(BadModel, match=r"a Keras 3 model, found tf_keras\.") as caught:
        build(OLDER, "logits", legacy=False)
    assert "give --keras legacy" in str(caught.value)
    with pytest.raises(BadModel, match=r"a model of tf_keras, for --keras legacy, found keras\."):
        build(ZOO, "small")


def test_without_tf_keras_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no dependency, for Keras 3 does without."""
    from audioloom_trainer.distributed.strategy import set_up_legacy

    monkeypatch.setitem(sys.modules, "tf_keras", None)
    with pytest.raises(BadConfiguration, match=r"audioloom-trainer\[legacy\]"):
        set_up_legacy(0)


def test_callbacks_are_refused(trainer: Trainer) -> None:
    """They are those of Keras 3."""
    ran = trainer("run", "nowhere", *LEGACY, "--callbacks", "audioloom_trainer.early_stopping:x")
    assert 2 == ran.code
    assert "--keras legacy" in ran.err


class Trainings:
    """Trains on the same shards, whose classes weigh differently."""

    def __init__(self, forkserver: ForkServer, root: Path) -> None:
        self.root, self._forkserver = root, forkserver
        weights = {"calm": 0.25, "glad": 1.0, "sad": 3.5}
        made = make_shards(
            root, records={"train": 61, "val": 23, "test": 17}, class_weights=weights
        )
        self._shards = made.folder

    def train(self, name: str, size: int, *words: object, ends: int = 0, **faults: int) -> None:
        """Make a run, or go on with one; the last worker has the faults."""
        each = [{}] * (size - 1) + [faults]
        all_words = ("run", self._shards, "--name", name, *words)
        ended = self._forkserver.gang(size, *all_words, faults=each)
        assert ends == ended[-1].code, ended[-1].err

    def run(self, name: str) -> Opened[TrainingRunManifest]:
        return run_of(self.root, name)

    def weights(self, name: str) -> Weights:
        return weights_of(self.run(name))


@pytest.fixture(scope="module")
def trainings(forkserver: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> Trainings:
    made = Trainings(forkserver, tmp_path_factory.mktemp("legacy"))
    made.train("one", 1, *LEGACY, *ALIKE)
    return made


def test_both_kerases_train_the_same(trainings: Trainings) -> None:
    """Batch normalisation, decay, clipping, class weights: 26 steps of Adam, the same names too."""
    trainings.train("keras-3", 1, "--model", NETWORK, *ALIKE)
    one, other = trainings.run("one"), trainings.run("keras-3")
    assert ("legacy", "3") == (one.manifest.recipe.keras, other.manifest.recipe.keras)
    assert difference(weights_of(one), weights_of(other)) <= EXACT
    for split, scores in one.manifest.stats.scores.items():
        assert scores == pytest.approx(other.manifest.stats.scores[split], abs=10 * EXACT)


@pytest.mark.slow
def test_two_workers_train_the_same_as_one(trainings: Trainings) -> None:
    """A batch of 5 is shared unevenly, and the last leaves one of them without a record."""
    trainings.train("two", 2, *LEGACY, *ALIKE)
    assert difference(trainings.weights("one"), trainings.weights("two")) <= NORMALISED
    one, two = (trainings.run(name).manifest.stats.scores for name in ("one", "two"))
    for split, scores in one.items():
        assert scores == pytest.approx(two[split], abs=10 * NORMALISED)


@pytest.mark.slow
def test_a_killed_training_goes_on_to_the_same_bits(trainings: Trainings) -> None:
    """With Dropout on two replicas, whose generators draw for different numbers of records."""
    words = (*LEGACY, "--model-arg=dropout=0.3", "--batch-size", 5, "--epochs", 2)
    words = (*words, "--checkpoint-steps", 4)
    trainings.train("calm", 1, *words, devices=2)
    trainings.train("hard", 1, *words, devices=2, kill_at_step=17, ends=KILLED)
    trainings.train("hard", 1, *words, devices=2)
    assert 0.0 == difference(trainings.weights("calm"), trainings.weights("hard"))


def test_a_run_can_be_inspected_and_scored_again(trainings: Trainings, trainer: Trainer) -> None:
    """Its recipe says which Keras it was."""
    run = trainings.run("one")
    assert "legacy: tf_keras" in trainer("inspect", run.folder).out
    ran = trainer("evaluate", run.folder, *MODEL, "--json")
    assert 0 == ran.code, ran.err
    for split, scores in run.manifest.stats.scores.items():
        assert pytest.approx(scores, abs=EXACT) == ran.data["splits"][split]["scores"]


def test_an_export_is_loaded_by_the_older_keras(
    trainings: Trainings, trainer: Trainer, tmp_path: Path
) -> None:
    """A SavedModel by TensorFlow alone; both say what the weights of the run say."""
    import tensorflow as tf
    import tf_keras

    run, ran = trainings.run("one"), {}
    for form in ("keras", "saved-model"):
        words = ("--to", tmp_path / form, "--format", form, "--json")
        ran[form] = trainer("export", run.folder, *words)
        assert 0 == ran[form].code, ran[form].err
    (entry,) = run.files("weights")
    windows = np.random.default_rng(0).normal(size=(5, *SHAPE)).astype(np.float32)
    model = tf_keras.models.load_model(ran["keras"].data["model"])
    saved = list(load_arrays(bytes_of(run, entry)).values())
    assert all(map(np.array_equal, saved, (v.numpy() for v in model.weights)))
    expected = model(windows, training=False).numpy()
    served = tf.saved_model.load(ran["saved-model"].data["model"])
    found = served.serve(windows)
    np.testing.assert_allclose(found["scores"].numpy(), expected, rtol=0, atol=EXACT)
    labels = [LABELS[number].encode() for number in expected.argmax(axis=1)]
    assert labels == found["label"].numpy().tolist()
