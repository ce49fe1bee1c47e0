"""Which classes of a confusion matrix to look at, where there are too many to look at all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def most_confused(matrix: Sequence[Sequence[int]], most: int) -> list[int]:
    """The numbers of at most so many classes, those in most mistakes, in their own order.

    Args:
        matrix: (true class, class said).
        most: how many.
    """
    wrong = np.array(matrix, np.int64)
    np.fill_diagonal(wrong, 0)
    mistakes = wrong.sum(axis=0) + wrong.sum(axis=1)
    chosen = np.argsort(-mistakes, kind="stable")[:most]
    return sorted(chosen.tolist())
