"""Exact mean and variance of the targets, in whatever order the records come.

A record holds its target as float32, which is a whole multiple of 2^-149.
"""

from collections.abc import Iterable
from typing import TypeGuard

import numpy as np
from audioloom_manifest.kinds import TargetStats

from audioloom_sharder.statistics.sums import ExactSums

MOST_TARGET = float(np.finfo(np.float32).max)
"""The largest number that a record can hold."""


class TargetSums(ExactSums):
    """Sums over the targets of some records, in one column."""

    VALUE_BITS = 149
    SQUARE_BITS = 2 * VALUE_BITS

    def stats(self) -> TargetStats | None:
        """Mean and variance; None without records."""
        if not self.count:
            return None
        (mean,), (variance,) = self.moments()
        return TargetStats(mean=mean, variance=variance)


NO_TARGETS = TargetSums()


def is_target(number: float | None) -> TypeGuard[float]:
    """Return whether a record can hold the number, which must be finite as float32 too."""
    return number is not None and abs(number) <= MOST_TARGET


def target_sums(numbers: Iterable[float]) -> TargetSums:
    """Sum these targets of records."""
    stored = np.fromiter(numbers, np.float64).astype(np.float32).astype(np.float64)
    whole = list(map(int, np.ldexp(stored, TargetSums.VALUE_BITS).tolist()))
    return TargetSums(len(whole), (sum(whole),), (sum(value * value for value in whole),))
