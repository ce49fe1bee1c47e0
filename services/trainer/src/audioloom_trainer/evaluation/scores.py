"""Compute scores from the counts of an evaluation: accuracy and the baselines of guessing."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from audioloom_runs.tables import table
from numpy.typing import NDArray

_BASELINES = ("chance", "majority", "mse_of_mean")
_HUGE = 1e6


def baselines(train: Mapping[str, int], split: Mapping[str, int]) -> dict[str, float]:
    """Return the accuracy of guessing on a split, from the records of each label in both splits.

    Returns:
        "chance": the accuracy of guessing among the labels at random; "majority": the accuracy of
        always answering the most frequent label of the training split. Shares from 0 to 1.
    """
    total = sum(split.values())
    if not total or not train:
        return {}
    favourite = min(train, key=lambda label: (-train[label], label))
    return {"chance": 1 / len(train), "majority": split.get(favourite, 0) / total}


def confusion_accuracy(matrix: NDArray[np.int64]) -> float:
    """Return the share of records on the diagonal of a matrix (true class, predicted class)."""
    return float(np.trace(matrix) / max(1, matrix.sum()))


def class_table(matrix: NDArray[np.int64], labels: Sequence[str]) -> list[dict[str, Any]]:
    """Return records, precision and recall of each class; null for a share of no records."""
    rows = []
    for number, label in enumerate(labels):
        right = int(matrix[number, number])
        true, predicted = int(matrix[number].sum()), int(matrix[:, number].sum())
        rows.append(
            {
                "label": label,
                "records": true,
                "precision": right / predicted if predicted else None,
                "recall": right / true if true else None,
            }
        )
    return rows


def score_table(scores: Mapping[str, Mapping[str, float]]) -> str:
    """Format scores as a text table: one line a split, one column a score."""
    names = list(dict.fromkeys(name for found in scores.values() for name in found))
    rows = [
        (split, *(shown(found[name]) if name in found else "" for name in names))
        for split, found in scores.items()
    ]
    return table(("split", *names), rows)


def score_line(scores: Mapping[str, float]) -> str:
    """Format scores as one line, the loss first, the baselines of guessing last in brackets."""
    names = sorted(scores.keys() - {*_BASELINES}, key=lambda key: (key != "loss", key))
    own = "  ".join(f"{key} {shown(scores[key])}" for key in names)
    guessing = ", ".join(f"{key} {shown(scores[key])}" for key in _BASELINES if key in scores)
    return f"{own}  ({guessing})" if guessing else own


def epoch_line(entry: Mapping[str, float], epochs: int, wait: float | None) -> str:
    """Format the entry of an epoch: its scores, after a bar those of the validation split.

    *wait* is the share of the time in which the training waited for its input.
    """
    scores = {key: value for key, value in entry.items() if key != "epoch"}
    validated = {key: value for key, value in scores.items() if key.startswith("val_")}
    line = f"epoch {entry['epoch']:.0f}/{epochs}  "
    line += score_line({key: scores[key] for key in scores if key not in validated})
    if validated:
        line += f" | val {score_line({k.removeprefix('val_'): v for k, v in validated.items()})}"
    return line if wait is None else f"{line} | input wait {wait:.1%}"


def shown(value: float) -> str:
    """Format a score with four digits after the point; a huge one by its power of ten."""
    return f"{value:.4f}" if abs(value) < _HUGE else f"{value:.3e}"
