from __future__ import annotations

import numpy as np
from audioloom_trainer.evaluation.scores import (
    baselines,
    class_table,
    confusion_accuracy,
    epoch_line,
    score_line,
    score_table,
)


def test_guessing_nothing_is_no_score() -> None:
    """Neither an empty split nor an unknown vocabulary can be guessed at."""
    assert {} == baselines({}, {"a": 3}) == baselines({"a": 3}, {})


def test_the_majority_is_that_of_the_training_split() -> None:
    """What the scored split is made of cannot be known beforehand."""
    found = baselines({"a": 1, "b": 5, "c": 0}, {"a": 8, "b": 2})
    assert {"chance": 1 / 3, "majority": 0.2} == found


def test_of_equal_labels_the_first_is_the_favourite() -> None:
    """So that the number does not depend on the order of a dictionary."""
    assert 0.75 == baselines({"b": 2, "a": 2}, {"a": 3, "b": 1})["majority"]


def test_accuracy_is_the_diagonal() -> None:
    """Of nothing it is 0."""
    assert 0.75 == confusion_accuracy(np.array([[2, 1], [0, 1]]))
    assert 0 == confusion_accuracy(np.zeros((2, 2), np.int64))


def test_a_share_of_nothing_is_null() -> None:
    """A class that never came, or was never answered, has no recall or precision."""
    rows = class_table(np.array([[2, 1, 0], [0, 0, 0], [1, 0, 0]]), ("a", "b", "c"))
    assert [
        {"label": "a", "records": 3, "precision": 2 / 3, "recall": 2 / 3},
        {"label": "b", "records": 0, "precision": 0.0, "recall": None},
        {"label": "c", "records": 1, "precision": None, "recall": 0.0},
    ] == rows


def test_scores_are_shown_beside_guessing() -> None:
    """A person sees at once whether something was learned."""
    scores = {"accuracy": 0.42, "chance": 0.25, "loss": 1.08, "majority": 0.3}
    expected = "loss 1.0800  accuracy 0.4200  (chance 0.2500, majority 0.3000)"
    assert expected == score_line(scores)
    assert "loss 1.0800" == score_line({"loss": 1.08})


def test_an_epoch_is_one_readable_line() -> None:
    """Its number, the scores, those of the validation split, and the wait for the input."""
    entry = {"epoch": 5, "loss": 1.08, "val_loss": 1.2, "val_accuracy": 0.4}
    expected = "epoch 5/12  loss 1.0800 | val loss 1.2000  accuracy 0.4000 | input wait 3.0%"
    assert expected == epoch_line(entry, 12, 0.03)
    assert "epoch 1/1  loss 2.0000" == epoch_line({"epoch": 1, "loss": 2.0}, 1, None)


def test_a_huge_loss_fits_its_column() -> None:
    """Not with 34 digits."""
    assert "3.310e+33" in score_table({"val": {"loss": 3.31e33}})
    assert "nan" in score_table({"val": {"loss": float("nan")}})
