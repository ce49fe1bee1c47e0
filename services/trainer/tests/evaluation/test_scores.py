from __future__ import annotations

import numpy as np
from audioloom_trainer.evaluation.scores import (
    baselines,
    class_table,
    confusion_accuracy,
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
