"""Exact mean and variance of coefficients and targets, whatever the order of the records.

Sums of floats depend on their order, but shards must not. So values are whole multiples of a power
of two, and nothing is rounded before the end. A target is a float32, a whole multiple of 2^-149. Of
each coefficient, the sums of a record over its frames are rounded to whole multiples of 2^-20.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Self, TypeGuard

import numpy as np
from audioloom_manifest.kinds import CoefficientStats, ShardFeature, TargetStats
from numpy.typing import NDArray
from pydantic import PlainSerializer, TypeAdapter

from audioloom_sharder.errors import BadFeatures

MOST_TARGET = float(np.finfo(np.float32).max)
"""The largest number that a record can hold."""

_AT_ONCE = 8
"""Windows that are widened to float64 at a time: 0.8 MB of (40, 313), for the cache."""

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


class CoefficientSums(ExactSums):
    """Sums over all frames of some records, for each coefficient."""

    VALUE_BITS = SQUARE_BITS = 20

    def stats(self) -> CoefficientStats:
        """Mean and variance of each coefficient."""
        mean, variance = self.moments()
        return CoefficientStats(mean=mean, variance=variance)


COEFFICIENT_SUMS = TypeAdapter(CoefficientSums)
"""The form of the sums in a receipt."""

SUMS_BY_SPLIT = TypeAdapter(list[CoefficientSums])
"""The form of the sums in a segment: one for each split."""


def coefficient_sums(
    windows: bytes | memoryview, feature: ShardFeature, *, where: object
) -> CoefficientSums:
    """Sum each coefficient over the frames of some windows, whose values lie side by side.

    Raises:
        BadFeatures: a value is not finite, or so large that its square is not.
    """
    dtype = np.dtype(feature.dtype).newbyteorder("<")
    values = np.frombuffer(windows, dtype).reshape(-1, *feature.shape)
    return added(window_sums(values, where=where), np.ones(len(values), np.int64), feature)


def window_sums(windows: NDArray[Any], *, where: object) -> NDArray[np.float64]:
    """Sum each coefficient of each window over its frames: (2, windows, coefficients).

    The first are the sums of the values, the second of their squares, as whole numbers in the units
    of `CoefficientSums`.

    Args:
        windows: (windows, coefficients, frames).
        where: they come from, for errors.

    Raises:
        BadFeatures: a value is not finite, or so large that its square is not.
    """
    sums = np.empty((2, *windows.shape[:2]))
    for start in range(0, len(windows), _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        wide = windows[some].astype(np.float64)
        wide.sum(axis=2, out=sums[0, some])
        np.multiply(wide, wide, out=wide).sum(axis=2, out=sums[1, some])
    sums *= 1 << CoefficientSums.VALUE_BITS
    np.rint(sums, out=sums)
    if not np.isfinite(sums).all():
        raise BadFeatures(
            expected="features whose squares are finite",
            found="a value that is not a number, infinite or beyond 1e150",
            where=where,
            hint="audioloom-featurizer verify says where.",
        )
    return sums


def added(
    sums: NDArray[np.float64], copies: NDArray[np.int64], feature: ShardFeature
) -> CoefficientSums:
    """Add the `window_sums` of some windows, of each as often as it has copies."""
    values, squares = (_added(each, copies) for each in sums)
    return CoefficientSums(feature.shape[1] * int(copies.sum()), values, squares)


def _added(sums: NDArray[np.float64], copies: NDArray[np.int64]) -> tuple[int, ...]:
    if np.abs(sums).max(initial=0) * float(copies.sum()) < 2.0**62:
        return tuple((copies @ sums.astype(np.int64)).tolist())
    return tuple(
        sum(int(value) * times for value, times in zip(column, copies.tolist(), strict=True))
        for column in sums.T.tolist()
    )
