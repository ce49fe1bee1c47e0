"""Count a model's predictions for the records of a split, in numbers that workers can add up."""

from typing import Self

import numpy as np
from numpy.typing import NDArray

from audioloom_trainer.evaluation.scores import BINS, binned

WORST = 20
"""Records of the highest loss that are kept."""
PREDICTION = ("label", "predicted", "loss", "confidence")
"""The columns of a prediction: true class, predicted class, loss of the true class (natural
logarithm), probability of the predicted class. The last two are NaN where outputs are no
probabilities.
"""

_PLACES = 4  # decimals: later ones differ with the number of replicas


class Accumulator:
    """Counts over records of so many classes, independent of their order; 0 for a number."""

    def __init__(self, classes: int) -> None:
        self.classes = classes
        self.confusion = np.zeros((classes, classes), np.int64)
        """(true class, predicted class)."""
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
        counts = [self.confusion.ravel(), self.bins.ravel(), np.array([self.improper])]
        return np.concatenate([*(each.astype(np.float64) for each in counts), table.ravel()])

    @classmethod
    def whole(cls, classes: int, total: NDArray[np.float64]) -> Self:
        """Make the counts of all workers from the sum of their parts."""
        found = cls(classes)
        ends = np.cumsum([found.confusion.size, found.bins.size, 1])
        confusion, bins, improper, table = np.split(total, ends)
        found.confusion += np.rint(confusion).astype(np.int64).reshape(found.confusion.shape)
        found.bins += np.rint(bins).astype(np.int64).reshape(found.bins.shape)
        found.improper = round(float(improper[0]))
        rows = table.reshape(-1, 1 + len(PREDICTION))
        found._keep(rows[rows[:, 0] >= 0])
        return found

    def _keep(self, rows: NDArray[np.float64]) -> None:
        rows = np.concatenate([self.worst, rows])
        rows[:, 3] = np.round(rows[:, 3], _PLACES) + 0.0  # no negative zero
        rows[:, 4] = np.round(rows[:, 4], _PLACES)
        self.worst = rows[np.lexsort((rows[:, 0], -rows[:, 3]))[:WORST]]
