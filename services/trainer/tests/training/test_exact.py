"""One replica and several train the same model, batch by batch, and score it the same."""

from __future__ import annotations

import json
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from audioloom_manifest.kinds import TrainingRunManifest
from audioloom_manifest.reader import Opened
from audioloom_trainer.runs.npz import load_arrays
from numpy.typing import NDArray
from shard_maker import SHAPE, make_shards
from trainer_program import call
from trainer_workers import (
    NETWORK,
    REUSE,
    ForkServer,
    Weights,
    bytes_of,
    cluster,
    difference,
    run_of,
    weights_of,
)

RECORDS = {"train": 61, "val": 23, "test": 17}
# 26 steps of Adam. Neither 2 nor 3 replicas share a batch of 5 evenly, and the last batch of an
# epoch holds one record: fewer than there are replicas.
WORDS = ("--batch-size", 5, "--epochs", 2)
STEPS = 26

PLAIN, NORMALISED, HALF = 1e-6, 5e-5, 5e-3
ACCUMULATING = ("--model-arg", "optimizer=accumulating")
TRY_AGAIN, BAD_CONFIGURATION = 75, 78


@dataclass(frozen=True)
class Gang:
    """A way to train with several replicas: processes, and logical devices of each."""

    workers: int
    devices: int = 1

    @property
    def replicas(self) -> int:
        return self.workers * self.devices

    def __str__(self) -> str:
        return f"{self.workers}x{self.devices}"


class Trainings:
    """Trains on the same shards in whatever way is asked for, each way once."""

    def __init__(
        self, forkserver: ForkServer, root: Path, class_weights: dict[str, float] | None = None
    ) -> None:
        self.root = root
        self._forkserver = forkserver
        made = make_shards(root, records=RECORDS, lanes=6, class_weights=class_weights)
        self.words = ("run", made.folder, *WORDS, "--model", NETWORK)
        self._names: dict[tuple[object, ...], str] = {}

    def train(self, gang: Gang, *words: object) -> Opened[TrainingRunManifest]:
        """The run that a gang makes."""
        key = (gang, *words)
        if key not in self._names:
            name = self._names[key] = f"run-{len(self._names)}"
            faults = [
                {"trace": str(self.root / f"{name}-{rank}"), "devices": gang.devices}
                for rank in range(gang.workers)
            ]
            ended = self._forkserver.gang(
                gang.workers, *self.words, *words, "--name", name, faults=faults
            )
            assert [0] * gang.workers == [each.code for each in ended], ended[0].err
        return run_of(self.root, self._names[key])

    def batches(self, run: Opened[TrainingRunManifest]) -> dict[tuple[Any, int], list[str]]:
        """By epoch and step, or split and step: the records of the global batch, sorted."""
        found = defaultdict(list)
        for file in self.root.glob(f"{run.manifest.name}-*"):
            for line in file.read_text().splitlines():
                epoch, step, rows = json.loads(line)
                found[epoch, step] += rows
        return {key: sorted(rows) for key, rows in found.items()}


@pytest.fixture(scope="module")
def trainings(forkserver: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> Trainings:
    return Trainings(forkserver, tmp_path_factory.mktemp("exact"))


@pytest.fixture(scope="module")
def weighted(forkserver: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> Trainings:
    weights = {"calm": 0.25, "glad": 1.0, "sad": 3.5}
    return Trainings(forkserver, tmp_path_factory.mktemp("weighted"), weights)


ONE = Gang(1)
TWO, THREE = (pytest.param(Gang(number), marks=pytest.mark.slow) for number in (2, 3))
DEVICES = Gang(1, devices=2)
GANGS = [Gang(2), THREE, DEVICES]
NORMALISING = [TWO, THREE, DEVICES]


def _close(
    trainings: Trainings, gang: Gang, tolerance: float, *words: object
) -> Opened[TrainingRunManifest]:
    """A gang's run, held against that of one replica: weights, scores and history."""
    one, other = trainings.train(ONE, *words), trainings.train(gang, *words)
    assert STEPS == one.manifest.stats.steps == other.manifest.stats.steps
    assert gang.replicas == other.manifest.stats.replicas
    found = difference(weights_of(one), weights_of(other))
    print(f"{gang}: weights differ by {found:.1e}")  # noqa: T201  (shown with -rP)
    assert found <= tolerance
    for split, scores in one.manifest.stats.scores.items():
        assert scores == pytest.approx(other.manifest.stats.scores[split], abs=10 * tolerance)
    for mine, theirs in zip(_history(one), _history(other), strict=True):
        assert mine == pytest.approx(theirs, abs=10 * tolerance)
    for split, mine in _evaluation(one).items():
        _same_answers(mine, _evaluation(other)[split], tolerance)
    return other


def _same_answers(one: dict[str, Any], other: dict[str, Any], tolerance: float) -> None:
    """The same confusion and worst records; but for rounding, the same confidence of each bin."""
    assert one["confusion"] == other["confusion"]
    assert [row["path"] for row in one["worst"]] == [row["path"] for row in other["worst"]]
    for mine, theirs in zip(one["calibration"]["bins"], other["calibration"]["bins"], strict=True):
        assert mine == pytest.approx(theirs, abs=10 * tolerance)


def _evaluation(run: Opened[TrainingRunManifest]) -> dict[str, Any]:
    (entry,) = run.files("evaluation")
    found: dict[str, Any] = json.loads(bytes_of(run, entry))["splits"]
    return found


def _history(run: Opened[TrainingRunManifest]) -> list[dict[str, float]]:
    (entry,) = run.files("history")
    found: list[dict[str, float]] = json.loads(bytes_of(run, entry))["epochs"]
    return found


def _state(run: Opened[TrainingRunManifest]) -> Weights:
    """What a run's last checkpoint holds."""
    return _arrays(max(Path(run.folder.path).glob("checkpoints/step-*")))


def _arrays(checkpoint: Path) -> Weights:
    (file,) = checkpoint.glob("state-*.npz")
    return load_arrays(file.read_bytes())


def _accumulated(state: Weights) -> bool:
    return any(value.any() for name, value in state.items() if "gradient_accumulator" in name)


@pytest.mark.parametrize("gang", GANGS, ids=str)
def test_weights_are_those_of_one_replica(trainings: Trainings, gang: Gang) -> None:
    """After 26 steps of Adam the weights differ by a millionth at most, scores by little more."""
    _close(trainings, gang, PLAIN)


@pytest.mark.parametrize("gang", NORMALISING, ids=str)
def test_batch_normalisation_sees_the_global_batch(trainings: Trainings, gang: Gang) -> None:
    """Moments are those of the records of a batch: unevenly shared, or too few for the replicas."""
    _close(trainings, gang, NORMALISED, "--model-arg", "batchnorm=true")


@pytest.mark.usefixtures("tensorflow")
@pytest.mark.parametrize("gang", NORMALISING, ids=str)
def test_models_that_a_gang_leaves_are_those_of_one(trainings: Trainings, gang: Gang) -> None:
    """As Keras and as TensorFlow load them, in a process without the others."""
    words = ("--model-arg", "batchnorm=true")
    windows = np.random.default_rng(3).normal(size=(9, *SHAPE)).astype(np.float32)
    expected = _answers(trainings.train(ONE, *words), windows)
    for found in (*expected, *_answers(trainings.train(gang, *words), windows)):
        np.testing.assert_allclose(found, expected[0], rtol=0, atol=10 * NORMALISED)


def _answers(
    run: Opened[TrainingRunManifest], windows: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """By the `.keras` file, and by the SavedModel."""
    import keras
    import tensorflow as tf

    keras_file = Path(run.folder.path, run.files("keras")[0].path)
    graph = next(e.path for e in run.files("saved-model") if e.path.endswith("/saved_model.pb"))
    served = tf.saved_model.load(str(Path(run.folder.path, graph).parent))
    model = keras.saving.load_model(keras_file)
    known = keras.ops.convert_to_numpy(model(windows, training=False))
    return known, served.serve(windows)["scores"].numpy()


@pytest.mark.slow
def test_gradients_are_clipped_as_one_replica_would(trainings: Trainings) -> None:
    """The limit is for the gradient of the global batch, not for a replica's part."""
    other = _close(trainings, Gang(1, devices=2), PLAIN, "--model-arg", "clipnorm=0.05")
    free = weights_of(trainings.train(ONE))
    assert difference(free, weights_of(other)) > 1e-3  # it did clip


@pytest.mark.slow
def test_an_update_of_several_steps_is_that_of_one_replica(trainings: Trainings) -> None:
    """Gradients of three steps: clipped, under a schedule, with decay and averages of weights."""
    other = _close(trainings, Gang(2), PLAIN, *ACCUMULATING)
    free, one = trainings.train(ONE), trainings.train(ONE, *ACCUMULATING)
    assert difference(weights_of(free), weights_of(other)) > 1e-3  # it did accumulate
    assert _accumulated(_state(other))  # 26 steps are eight updates and two more
    assert difference(_state(one), _state(other)) <= PLAIN


def test_an_update_goes_on_after_a_restart(trainings: Trainings, forkserver: ForkServer) -> None:
    """Told to end between two updates: the bits of a training that was not."""
    calm = trainings.train(ONE, *ACCUMULATING)
    words = (*trainings.words, *ACCUMULATING, "--name", "told", "--checkpoint-steps", 1)
    words += ("--keep-checkpoints", STEPS)
    assert TRY_AGAIN == forkserver.run(*words, told_at_step=4).code
    saved = trainings.root / "runs" / "told" / "checkpoints" / "step-00000005"
    assert _accumulated(_arrays(saved))
    assert 0 == forkserver.run(*words).code
    assert 0.0 == difference(weights_of(calm), weights_of(run_of(trainings.root, "told")))


@pytest.mark.slow
def test_a_step_is_skipped_by_all_replicas_or_none(trainings: Trainings) -> None:
    """A gradient of one replica is not finite: the scales of the loss stay equal too."""
    words = ("--model-arg", "optimizer=scaling", "--model-arg", "overflows=true")
    other = _close(trainings, Gang(2), PLAIN, *words)
    states = [_state(trainings.train(ONE, *words)), _state(other)]
    (taken,) = (int(v) for name, v in states[0].items() if name.endswith("adam/iteration"))
    assert STEPS // 2 < taken < STEPS
    assert difference(*states) <= PLAIN


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "optimizer"), [("mixed_float16", "scaling"), ("mixed_bfloat16", "adam")]
)
def test_half_precision_trains_together(weighted: Trainings, policy: str, optimizer: str) -> None:
    """Weights stay whole, and agree as far as half precision does."""
    settings = (f"policy={policy}", f"optimizer={optimizer}", "batchnorm=true")
    words = [word for each in settings for word in ("--model-arg", each)]
    runs = [weighted.train(gang, *words) for gang in (ONE, Gang(1, devices=2))]
    one, other = map(weights_of, runs)
    assert {"float32"} == {weight.dtype.name for weight in other.values()}
    found = difference(one, other)
    print(f"{policy}: weights differ by {found:.1e}")  # noqa: T201  (shown with -rP)
    assert found <= HALF


def test_weights_that_cannot_be_shared_are_refused(
    trainings: Trainings, forkserver: ForkServer
) -> None:
    """Before the first step, with what to do instead."""
    words = ("--model-arg", "policy=bfloat16", "--name", "halves")
    ended = forkserver.gang(2, *trainings.words, *words)
    assert [BAD_CONFIGURATION] * 2 == [each.code for each in ended]
    assert all("use the policy mixed_bfloat16" in each.err for each in ended)


@pytest.mark.slow
def test_half_precision_can_be_evaluated(weighted: Trainings, forkserver: ForkServer) -> None:
    """With the scale that Keras puts around the optimizer itself, which is in the checkpoints."""
    run = weighted.train(ONE, "--model-arg", "policy=mixed_float16")
    assert any("dynamic_scale" in name for name in _state(run))
    ran = forkserver.run("evaluate", run.location, "--model", NETWORK, "--split", "val", "--json")
    found = json.loads(ran.out)["splits"]["val"]["scores"]
    assert found == pytest.approx(run.manifest.stats.scores["val"], abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("gang", [Gang(3), DEVICES], ids=str)
def test_class_weights_are_those_of_one_replica(
    trainings: Trainings, weighted: Trainings, gang: Gang
) -> None:
    """A batch whose replicas drew classes of other weights: still the mean over its records."""
    other = _close(weighted, gang, PLAIN)
    free = weights_of(trainings.train(ONE))
    assert difference(free, weights_of(other)) > 1e-3  # they do count


@pytest.mark.parametrize("gang", GANGS, ids=str)
def test_global_batches_are_the_same_records(trainings: Trainings, gang: Gang) -> None:
    """Step by step the replicas together read what one replica reads, and an epoch is exact."""
    one = trainings.batches(trainings.train(ONE))
    assert one == trainings.batches(trainings.train(gang))
    epochs = {epoch for epoch, _ in one if isinstance(epoch, int)}
    assert {0, 1} == epochs
    for epoch in epochs:
        rows = [row for step in range(STEPS // 2) for row in one[epoch, step]]
        assert len(rows) == len(set(rows)) == RECORDS["train"]
    assert one[0, 0] != one[1, 0]


@pytest.mark.slow
def test_the_programs_themselves_train_together(trainings: Trainings) -> None:
    """Two programs with TF_CONFIG: the chief prints its manifest, the other nothing, to the bit."""
    forked = trainings.train(Gang(2))
    words = (*trainings.words, "--name", "programs")
    with ThreadPoolExecutor(2) as pool:
        ended = list(pool.map(lambda text: call(*words, TF_CONFIG=text, **REUSE), cluster(2)))
    assert [0, 0] == [each.code for each in ended], ended[0].err
    run = run_of(trainings.root, "programs")
    assert [f"{run.location}\n", ""] == [each.out for each in ended]
    assert 0.0 == difference(weights_of(forked), weights_of(run))
