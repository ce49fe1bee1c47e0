"""Count a model's predictions for the records of a split, and compute scores from the counts.

Workers can add the counts up. The scores are accuracy, baselines of guessing, and calibration.
The confidence of a record is the probability that the model gave the predicted class. Records are
put into bins of equal width by their confidence. In a calibrated model the accuracy of each bin
equals its mean confidence (Guo et al. 2017, On Calibration of Modern Neural Networks).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

MOST_IN_TABLE = 3_000
"""Classes of which a confusion matrix is kept: as JSON this many already take 1 GB of memory."""
BINS = 15
# Confidence is summed in whole units, so the sum is the same for any order and number of workers.
_UNITS = 1 << 24
WORST = 20
"""Records of the highest loss that are kept."""
PREDICTION = ("label", "predicted", "loss", "confidence")
"""The columns of a prediction: true class, predicted class, loss of the true class (natural
logarithm), probability of the predicted class. The last two are NaN where outputs are no
probabilities.
"""

_PLACES = 4  # decimals: later ones differ with the number of replicas


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


def count_by_class(matrix: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the counts of `Accumulator.by_class` from a matrix (true class, predicted class)."""
    return np.stack([matrix.sum(axis=1), matrix.sum(axis=0), matrix.diagonal()])


def share_of_right(by_class: NDArray[np.int64]) -> float:
    """Return the share of records whose class is predicted, from the counts of each class."""
    true, _, right = by_class
    return float(right.sum() / max(1, true.sum()))


def class_table(by_class: NDArray[np.int64], labels: Sequence[str]) -> list[dict[str, Any]]:
    """Return records, precision and recall of each class; null for a share of no records."""
    rows = []
    for label, (true, predicted, right) in zip(labels, by_class.T.tolist(), strict=True):
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


class Accumulator:
    """Counts over records of so many classes, independent of their order; 0 for a number."""

    def __init__(self, classes: int) -> None:
        self.classes = classes
        self.by_class = np.zeros((3, classes), np.int64)
        """Records of each class: true ones, predicted ones, and those that are both."""
        small = classes <= MOST_IN_TABLE
        self.confusion = np.zeros((classes, classes), np.int64) if small else None
        """(true class, predicted class); None for more classes than `MOST_IN_TABLE`."""
        self.bins = np.zeros((BINS, 3), np.int64)
        """As `scores.binned` counts."""
        self.improper = 0
        """Records whose outputs are no probabilities."""
        self.worst = np.zeros((0, 1 + len(PREDICTION)))
        """(at most WORST, 1 + len(PREDICTION)): position in the split, and prediction; the highest
        loss first, rounded, and of equal ones the lowest position."""

    def add(self, positions: NDArray[np.int64], predictions: NDArray[np.float32]) -> None:
        """Add records: (records,) positions in the natural order, and (records, 4) `PREDICTION`."""
        true, predicted = predictions[:, 0].astype(np.int64), predictions[:, 1].astype(np.int64)
        for row, found in enumerate((true, predicted, true[true == predicted])):
            np.add.at(self.by_class[row], found, 1)
        if self.confusion is not None:
            np.add.at(self.confusion, (true, predicted), 1)
        known = np.isfinite(predictions[:, 2:]).all(axis=1)
        self.improper += int((~known).sum())
        predictions, positions = predictions[known], positions[known]
        self.bins += binned(predictions[:, 3], (true == predicted)[known])
        self._keep(np.column_stack([positions, predictions.astype(np.float64)]))

    def parts(self, rank: int, size: int) -> NDArray[np.float64]:
        """Return the counts of worker *rank* of *size* as numbers whose sum is exact."""
        table = np.zeros((size, WORST, 1 + len(PREDICTION)))
        table[rank, :, 0] = -1
        table[rank, : len(self.worst)] = self.worst
        counts = [*self._counts(), np.array([self.improper]), table]
        return np.concatenate([each.astype(np.float64).ravel() for each in counts])

    @classmethod
    def whole(cls, classes: int, total: NDArray[np.float64]) -> Self:
        """Make the counts of all workers from the sum of their parts."""
        found = cls(classes)
        counts = found._counts()
        ends = np.cumsum([*(each.size for each in counts), 1])
        *parts, improper, table = np.split(total, ends)
        for count, part in zip(counts, parts, strict=True):
            count[:] = np.rint(part).reshape(count.shape)
        found.improper = round(float(improper[0]))
        rows = table.reshape(-1, 1 + len(PREDICTION))
        found._keep(rows[rows[:, 0] >= 0])
        return found

    def _counts(self) -> list[NDArray[np.int64]]:
        table = [] if self.confusion is None else [self.confusion]
        return [self.by_class, *table, self.bins]

    def _keep(self, rows: NDArray[np.float64]) -> None:
        rows = np.concatenate([self.worst, rows])
        rows[:, 3] = np.round(rows[:, 3], _PLACES) + 0.0  # no negative zero
        rows[:, 4] = np.round(rows[:, 4], _PLACES)
        self.worst = rows[np.lexsort((rows[:, 0], -rows[:, 3]))[:WORST]]
