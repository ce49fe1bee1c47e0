"""Exact sums, as those of targets: mean and variance do not depend on the order of addition.

Sums of floats depend on their order, but shards must not. So values are whole multiples of a power
of two, and nothing is rounded before the end. A target is a float32, a whole multiple of 2^-149.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar, Self, TypeGuard

import numpy as np
from audioloom_manifest.kinds import TargetStats
from pydantic import PlainSerializer

MOST_TARGET = float(np.finfo(np.float32).max)
"""The largest number that a record can hold."""

Whole = Annotated[int, PlainSerializer(str)]
"""A whole number that JSON holds as text: readers of JSON round large numbers."""


@dataclass(frozen=True)
class ExactSums:
    """Sums over some values, for each of several columns.

    Attributes:
        count: the number of values in each column.
        values: sums of the values, in units of 2^-VALUE_BITS.
        squares: sums of their squares, in units of 2^-SQUARE_BITS.
    """

    VALUE_BITS: ClassVar[int]
    SQUARE_BITS: ClassVar[int]

    count: int = 0
    values: tuple[Whole, ...] = ()
    squares: tuple[Whole, ...] = ()

    def __add__(self, other: Self) -> Self:
        if not self.count or not other.count:
            return self if self.count else other
        return type(self)(
            self.count + other.count,
            tuple(a + b for a, b in zip(self.values, other.values, strict=True)),
            tuple(a + b for a, b in zip(self.squares, other.squares, strict=True)),
        )

    def moments(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Mean and (population) variance of each column, correctly rounded."""
        means = [Fraction(value, self.count << self.VALUE_BITS) for value in self.values]
        squares = [Fraction(square, self.count << self.SQUARE_BITS) for square in self.squares]
        variances = [max(Fraction(0), q - m * m) for m, q in zip(means, squares, strict=True)]
        return tuple(map(float, means)), tuple(map(float, variances))


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
