"""Compute scores from the counts of an evaluation: accuracy, baselines of guessing, calibration.

The confidence of a record is the probability that the model gave the predicted class. Records are
put into bins of equal width by their confidence. In a calibrated model the accuracy of each bin
equals its mean confidence (Guo et al. 2017, On Calibration of Modern Neural Networks).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

BINS = 15
# Confidence is summed in whole units, so the sum is the same for any order and number of workers.
_UNITS = 1 << 24


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


def binned(confidence: NDArray[np.float32], right: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Count records by confidence, 0 to 1, in numbers that can be added up.

    Returns:
        int64 (BINS, 3): records, sum of their confidence in units of 2⁻²⁴, records that are right.
        Bin b holds the confidence in (b / BINS, (b + 1) / BINS].
    """
    exact = confidence.astype(np.float64)
    number = np.clip(np.ceil(exact * BINS).astype(np.int64) - 1, 0, BINS - 1)
    found = np.zeros((BINS, 3), np.int64)
    np.add.at(found[:, 0], number, 1)
    np.add.at(found[:, 1], number, np.rint(exact * _UNITS).astype(np.int64))
    np.add.at(found[:, 2], number, right.astype(np.int64))
    return found


def calibration(bins: NDArray[np.int64]) -> dict[str, Any]:
    """Compute the expected calibration error and the means of each bin; null for an empty bin.

    Returns:
        "expected_calibration_error": the gap between confidence and accuracy, 0 to 1, each bin
        weighted by its records; "bins": records, mean confidence and accuracy of each bin.
    """
    rows = []
    error, total = 0.0, int(bins[:, 0].sum())
    for records, confidence, right in bins.tolist():
        if not records:
            rows.append({"records": 0, "confidence": None, "accuracy": None})
            continue
        mean, accuracy = confidence / _UNITS / records, right / records
        error += records / total * abs(accuracy - mean)
        rows.append({"records": records, "confidence": mean, "accuracy": accuracy})
    return {"expected_calibration_error": error, "bins": rows}
