"""Compute scores from the counts of an evaluation: accuracy and the baselines of guessing."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


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
