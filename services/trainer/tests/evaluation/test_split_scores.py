from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from audioloom_manifest.kinds import TargetStats
from audioloom_storage import locate
from audioloom_trainer.evaluation import split_scores
from audioloom_trainer.evaluation.scores import Accumulator, count_by_class
from audioloom_trainer.evaluation.split_scores import (
    SplitEvaluation,
    evaluation_report,
    with_mean_baseline,
)
from audioloom_trainer.runs.artifacts import result_files, write_files
from audioloom_trainer.shards.layout import Layout
from audioloom_trainer.shards.shard_set import ShardSet, Split

TRAIN = Split("train", Layout((6, 6), 2), (), {"a": 9, "b": 3})
VAL = Split("val", Layout((4,), 1), (), {"a": 1, "b": 3})
SET = ShardSet((2, 3), "float32", ("a", "b"), {"train": TRAIN, "val": VAL})
NUMBERS = ShardSet((2, 3), "float32", (), {"train": TRAIN, "val": VAL})
CONFUSION = np.array([[1, 0], [2, 1]])
ANSWERS = np.array(
    [[0, 0, 0.1, 0.9], [1, 0, 1.2, 0.7], [1, 0, 2.3, 0.9], [1, 1, 0.1, 0.9]], np.float32
)
FINISHED: dict[str, Any] = {
    "weights": {"weight-00000/kernel": np.arange(3.0)},
    "config": {"class_name": "Functional"},
    "history": [{"epoch": 1, "loss": 0.5}],
    "evaluation": {"labels": ["a", "b"]},
}


def test_what_json_cannot_say_is_refused_not_written(tmp_path: Path) -> None:
    """A run is never committed with half a report."""
    bad = FINISHED | {"history": [{"loss": float("nan")}]}
    with pytest.raises(ValueError, match="JSON"):
        write_files(locate(tmp_path), result_files(**bad))
    assert [] == list(tmp_path.rglob("*.json"))


def scores_of(scores: dict[str, float]) -> dict[str, float]:
    """The scores of `val` for the manifest, of a model that has these itself."""
    counts = Accumulator(2)
    counts.by_class += count_by_class(CONFUSION)
    evaluated = {"val": SplitEvaluation(scores, counts)}
    found: dict[str, float] = evaluation_report(SET, evaluated, TRAIN)["splits"]["val"]["scores"]
    return found


def test_scores_that_are_not_finite_are_left_out() -> None:
    """The manifest has no word for them."""
    scores = {"loss": 1.0, "strange": float("inf")}
    found = scores_of(scores)
    assert {"loss": 1.0, "accuracy": 0.5, "chance": 0.5, "majority": 0.25} == found


def test_the_models_own_accuracy_is_kept() -> None:
    """Ours is from the same records; the model may weigh them."""
    assert 0.7 == scores_of({"accuracy": 0.7})["accuracy"]


def test_numbers_have_no_classes() -> None:
    """Neither guessing nor confusion means anything."""
    scored = {"val": SplitEvaluation({"loss": 2.0}, Accumulator(0))}
    assert {
        "labels": [],
        "splits_by": "",
        "splits": {"val": {"records": 4, "scores": {"loss": 2.0}}},
    } == evaluation_report(NUMBERS, scored, train=TRAIN)


def test_the_mean_is_that_of_the_training_split() -> None:
    """In a split that lies elsewhere, always answering it is further off than the spread."""
    train = replace(TRAIN, targets=TargetStats(mean=2.0, variance=9.0))
    val = replace(VAL, targets=TargetStats(mean=5.0, variance=0.5))
    shard_set = replace(NUMBERS, splits={"train": train, "val": val})
    evaluation: dict[str, Any] = {
        "labels": [],
        "splits": {"val": {"records": 4, "scores": {"loss": 2.0}}},
    }
    found = with_mean_baseline(evaluation, shard_set, train=train)
    assert {"loss": 2.0, "mse_of_mean": 9.5} == found["splits"]["val"]["scores"]
    assert {"loss": 2.0} == evaluation["splits"]["val"]["scores"]


@pytest.mark.parametrize("lacking", ["train", "val"])
def test_of_shards_that_do_not_say_the_mean(lacking: str) -> None:
    """Those of contract 1.0, one side or the other: the evaluation is as it was."""
    stats = TargetStats(mean=2.0, variance=9.0)
    splits = {
        each.name: each if each.name == lacking else replace(each, targets=stats)
        for each in (TRAIN, VAL)
    }
    evaluation: dict[str, Any] = {
        "labels": [],
        "splits": {"val": {"records": 4, "scores": {"loss": 2.0}}},
    }
    shard_set = replace(NUMBERS, splits=splits)
    assert evaluation == with_mean_baseline(evaluation, shard_set, train=splits["train"])


def reported(monkeypatch: pytest.MonkeyPatch, counts: Accumulator) -> dict[str, Any]:
    """The report of `val`, whose records come from a.wav, b.wav and so on, the worst first."""
    monkeypatch.setattr(
        split_scores,
        "origins",
        lambda _set, _split, at: [
            {"path": f"{name}.wav", "window": 0, "channel": -1}
            for name, _ in zip("abcd", at, strict=True)
        ],
    )
    scored = {"val": SplitEvaluation({"loss": 1.0}, counts)}
    found: dict[str, Any] = evaluation_report(SET, scored, train=TRAIN)["splits"]["val"]
    return found


def test_the_worst_records_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The highest loss first; by where they come from, with what was said of them."""
    tally = Accumulator(2)
    tally.add(np.arange(4), ANSWERS)
    found = reported(monkeypatch, tally)["worst"]
    assert {
        "path": "a.wav",
        "window": 0,
        "channel": -1,
        "label": "b",
        "predicted": "a",
        "loss": 2.3,
        "confidence": 0.9,
    } == found[0]
    assert [2.3, 1.2, 0.1, 0.1] == [each["loss"] for each in found]


def test_how_sure_the_model_was_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """And null where its outputs are no probabilities, of even one record."""
    tally = Accumulator(2)
    tally.add(np.arange(4), ANSWERS)
    found = reported(monkeypatch, tally)
    assert CONFUSION.tolist() == found["confusion"]
    bins = {each["records"]: each["accuracy"] for each in found["calibration"]["bins"]}
    assert {0: None, 1: 0.0, 3: 2 / 3} == bins
    tally.improper = 1
    assert reported(monkeypatch, tally)["calibration"] is None


def test_of_too_many_classes_the_matrix_is_null(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shares of each class are there, and a training of thousands of them is committed."""
    tally = Accumulator(2)
    tally.add(np.arange(4), ANSWERS)
    whole = reported(monkeypatch, tally)
    tally.confusion = None
    assert whole | {"confusion": None} == reported(monkeypatch, tally)


def test_files_are_named_by_their_content(tmp_path: Path) -> None:
    """So what an earlier try left is taken as it is, and nothing depends on when or where."""
    files = result_files(**FINISHED)
    first, again, elsewhere = (write_files(locate(tmp_path / each), files) for each in "aab")
    assert first == again == elsewhere
    assert ["weights", "model", "history", "evaluation"] == [entry.role for entry in first]
    for entry in first:
        assert entry.sha256[:12] in entry.path
        assert entry.bytes == (tmp_path / "a" / entry.path).stat().st_size
