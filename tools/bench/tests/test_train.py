"""The parts of `train`: what their figures come from, what fails, and each lane on little."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from audioloom_bench import train
from audioloom_bench.made_shards import made_shards
from audioloom_bench.measure import FLOOR, NAIVE, Lane
from audioloom_bench.same_network import LIGHT
from audioloom_bench.training import batch_rate, resume, staging, startup, step_rate
from audioloom_bench.training.figures import OURS, figures, single
from audioloom_bench.training.loops import WAITED, fit, ours
from audioloom_bench.training.step_rate import KERAS, TF_KERAS
from audioloom_bench.training.team import Tidied, interleaved, team
from audioloom_storage import locate

STEPS = 2
GOES, LATE_S = 8, 0.1  # more steps than batches are made ready before the first


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Shards of two steps."""
    return str(made_shards(locate(tmp_path_factory.mktemp("shards")), STEPS * 64).location)


def speeds(tf_keras: float, keras: float) -> list[Lane]:
    """How often as fast as the fits the light network is trained."""
    times = {TF_KERAS: tf_keras, KERAS: keras}
    return [
        single(f"light Conv1D, {step_rate.TIMES}{name}", each, "") for name, each in times.items()
    ]


def test_what_is_too_slow_is_named() -> None:
    """Each `should` of the parts, in the words that the program ends with."""
    lanes = [
        *speeds(tf_keras=1.2, keras=0.96),
        single(f"light Conv1D, {step_rate.WAITING}", 2.04, "% of the step"),
        Lane(OURS, batch_rate.INPUT, 24_999.4, "records / core-s", 2.0, 0.1),
        Lane(OURS, "2 workers, processor", 50.0, "steps / core-s", 1.2, math.nan),
        single(staging.SHARE, 89.4, "%"),
        Lane(OURS, startup.COST, 13.0, "core-s", math.nan, 1 / 1.3),
    ]

    assert train.shortfall(lanes) == (
        "feeding windows of 40 × 313: 24,999 records a processor's second,"
        " expected at least 25,000\n"
        "light Conv1D: 1.20 times tf_keras fit, expected at least 1.25\n"
        "light Conv1D: 0.96 times Keras 3 fit, expected at least 1\n"
        "light Conv1D, waiting for input: 2.0 % of the step, expected less than 2\n"
        "2 workers, processor: 1.20 times tf_keras fit, expected at least 1.25\n"
        "first epoch from HDFS, share of min(staging, steps): 89 %, expected at least 90\n"
        "to the first step, processor: 1.30 times TensorFlow's own, expected at most 1.2"
    )


def test_what_is_fast_enough() -> None:
    """Aims are shown, and are no failure; parts that were not measured neither."""
    lanes = [
        *speeds(tf_keras=1.25, keras=1.0),
        single(f"default Conv1D, {step_rate.TIMES}{TF_KERAS}", 1.01, ""),
        single(f"light Conv1D, {step_rate.WAITING}", 1.96, "% of the step"),
        single("checkpoint of 5 M parameters, stall", 400.0, "ms"),
        Lane(OURS, "2 workers, processor", 50.0, "steps / core-s", 1.3, math.nan),
    ]
    assert train.shortfall(lanes) is None
    assert train.shortfall([]) is None


def test_figures_are_medians_within_a_round() -> None:
    """A lane that is not there has no ratios; memory is no rate."""
    found = {NAIVE: [4.0, 8.0, 6.0], OURS: [2.0, 2.0, 2.0]}

    (_, own) = figures(found, "steps", "steps / s", amount=10)
    assert (5.0, 3.0) == (own.value, own.vs_naive)
    assert math.isnan(own.vs_floor)
    assert [6.0, 2.0] == [lane.value for lane in figures(found, "memory", "MB")]


def test_an_epoch_is_no_faster_than_what_it_waits_for() -> None:
    """The share is of the slower of both rates."""
    assert 80.0 == staging.share(staging=4.0, first=5.0, warm=1.0)
    assert 40.0 == staging.share(staging=1.0, first=5.0, warm=2.0)


def test_lanes_go_in_turn_in_processes_of_their_own() -> None:
    """As often as there are rounds, after one go that is not measured."""
    with team(batch_rate.copying, 64) as one, team(batch_rate.copying, 128) as other:
        found = interleaved({"one": one, "other": other}, 2)
        assert one.megabytes > 1
    assert [2, 2] == [len(taken) for taken in found.values()]
    assert all(each.cpu > 0 for taken in found.values() for each in taken)


def test_what_a_go_leaves_is_removed_before_the_next(tmp_path: Path) -> None:
    """Copies of one go would fill the disk that the next one writes to."""
    folder = tmp_path / "copies"
    with team(Tidied, folder.mkdir, folder.rmdir) as lane:  # `mkdir` fails if it is there
        for _ in range(2):
            lane.go()
            assert not list(tmp_path.iterdir())


def test_a_lane_that_ends_is_an_error() -> None:
    """Not a wait without end: here what was made cannot be called."""
    with team(int) as lane, pytest.raises(RuntimeError, match="ended early"):
        lane.go()


@pytest.mark.slow  # four processes import TensorFlow
def test_every_feeding_lane_takes_every_record(manifest: str) -> None:
    """Each lane checks the number of its batches."""
    found = batch_rate.lanes(manifest, STEPS, 1)
    assert {NAIVE, batch_rate.GOOD, OURS, FLOOR} == {lane.lane for lane in found}
    assert all(lane.value > 0 for lane in found)


@pytest.mark.slow
def test_the_loop_knows_how_long_it_waited(manifest: str) -> None:
    """For what comes late: something, and no longer than it worked in all."""
    with team(partial(ours, timed=True, late_s=LATE_S), "tiny Dense", manifest, STEPS) as lane:
        taken = [lane.go() for _ in range(GOES)]
    waited = sum(each.notes[WAITED] for each in taken)
    assert 0 < waited < sum(each.seconds for each in taken)


@pytest.mark.slow  # five million parameters
def test_going_on_is_measured(manifest: str) -> None:
    """The first batch by both ways, and what state costs."""
    found = {lane.input: lane.value for lane in resume.lanes(manifest, STEPS, 1)}
    assert 4 == len(found)
    assert all(value > 0 for value in found.values())


@pytest.mark.slow  # TensorFlow is imported anew, twice
def test_the_first_step_is_told_by_the_command_itself(manifest: str) -> None:
    """Of the trainer's `run`: it ends when its first step is done."""
    taken = startup.first_step(OURS, manifest)
    assert 0 < taken.cpu
    assert 0 < taken.seconds


@pytest.mark.slow
@pytest.mark.parametrize("loop", [partial(fit, "tf_keras"), ours], ids=["tf_keras", "ours"])
def test_two_workers_find_each_other(loop: Any, manifest: str) -> None:
    """Both ways train on batches that two processes share."""
    with team(loop, LIGHT, manifest, STEPS, size=2) as lane:
        assert lane.go().cpu > 0


@pytest.mark.slow
def test_the_first_epoch_comes_from_hdfs(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a real cluster: nothing of what staging reads is lost, or it would say so."""
    monkeypatch.setattr(staging, "SHARDS", 8)
    monkeypatch.setenv("HADOOP_CONF_DIR", "")
    found = staging.lanes("", STEPS, 1)
    assert staging.SHARE == found[-1].input
    assert all(lane.value > 0 for lane in found)
