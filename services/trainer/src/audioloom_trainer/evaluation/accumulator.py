"""What a model said of the records of a split, counted so that workers' counts can be added up."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from audioloom_trainer.evaluation.calibration import BINS, binned

WORST = 20
"""Records of the highest loss that are kept."""
PREDICTION = ("label", "said", "loss", "confidence")
"""The columns of a record's answer: true class, class said, loss of the true class (natural
logarithm), probability of the class said. The last two are NaN where outputs are no probabilities.
"""

_PLACES = 4  # what rounding decides between numbers of replicas is no difference of loss


@dataclass
class Accumulator:
    """Counts over records, in any order.

    Args:
        classes: how many there are; 0 where numbers are learned.
    """

    classes: int
    confusion: NDArray[np.int64] = field(init=False)
    """(true class, class said)."""
    bins: NDArray[np.int64] = field(init=False)
    """As `calibration.binned` counts."""
    improper: int = 0
    """Records whose outputs are no probabilities."""
    worst: NDArray[np.float64] = field(init=False)
    """(at most WORST, 1 + len(ANSWER)): position in the split and answer; the highest loss first,
    rounded, and of equal ones the lowest position."""

    def __post_init__(self) -> None:
        self.confusion = np.zeros((self.classes, self.classes), np.int64)
        self.bins = np.zeros((BINS, 3), np.int64)
        self.worst = np.zeros((0, 1 + len(PREDICTION)))

    def add(self, positions: NDArray[np.int64], answers: NDArray[np.float32]) -> None:
        """Count some records.

        Args:
            positions: (records,), in the natural order of the split.
            answers: (records, 4), columns as in `PREDICTION`.
        """
        true, said = answers[:, 0].astype(np.int64), answers[:, 1].astype(np.int64)
        np.add.at(self.confusion, (true, said), 1)
        known = np.isfinite(answers[:, 2:]).all(axis=1)
        self.improper += int((~known).sum())
        answers, positions = answers[known], positions[known]
        self.bins += binned(answers[:, 3], (true == said)[known])
        self._keep(np.column_stack([positions, answers.astype(np.float64)]))

    def parts(self, rank: int, size: int) -> NDArray[np.float64]:
        """The counts of worker *rank* of *size* as numbers that all workers add up, exactly."""
        table = np.zeros((size, WORST, 1 + len(PREDICTION)))
        table[rank, :, 0] = -1
        table[rank, : len(self.worst)] = self.worst
        counts = [self.confusion.ravel(), self.bins.ravel(), np.array([self.improper])]
        return np.concatenate([*(each.astype(np.float64) for each in counts), table.ravel()])

    @classmethod
    def whole(cls, classes: int, total: NDArray[np.float64]) -> Self:
        """The counts of all workers, from the sum of their parts."""
        tally = cls(classes)
        ends = np.cumsum([tally.confusion.size, tally.bins.size, 1])
        confusion, bins, improper, table = np.split(total, ends)
        tally.confusion += np.rint(confusion).astype(np.int64).reshape(tally.confusion.shape)
        tally.bins += np.rint(bins).astype(np.int64).reshape(tally.bins.shape)
        tally.improper = round(float(improper[0]))
        rows = table.reshape(-1, 1 + len(PREDICTION))
        tally._keep(rows[rows[:, 0] >= 0])
        return tally

    def _keep(self, rows: NDArray[np.float64]) -> None:
        rows = np.concatenate([self.worst, rows])
        rows[:, 3] = np.round(rows[:, 3], _PLACES) + 0.0  # no negative zero
        rows[:, 4] = np.round(rows[:, 4], _PLACES)
        self.worst = rows[np.lexsort((rows[:, 0], -rows[:, 3]))[:WORST]]
