"""Exact mean and variance of each coefficient, in whatever order the records come.

Sums of floats depend on their order, and shards on none. So each record's sums over its frames are
rounded to whole multiples of 2^-20, and whole numbers are added from there on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from audioloom_manifest import CoefficientStats, ShardFeature
from numpy.typing import NDArray

from audioloom_sharder.errors import BadFeatures

_ONE = 1 << 20
_AT_ONCE = 8
"""Records whose values are widened to float64 at a time: 0.8 MB of (40, 313), for the cache."""


@dataclass(frozen=True)
class CoefficientSums:
    """Sums over all frames of some records, for each coefficient.

    Attributes:
        frames: how many were added.
        values: sums of the values, in units of 2^-20.
        squares: sums of their squares, in units of 2^-20.
    """

    frames: int
    values: tuple[int, ...]
    squares: tuple[int, ...]

    def to_json(self) -> list[Any]:
        """As a receipt holds it; in text, as JSON's readers round large numbers."""
        return [self.frames, list(map(str, self.values)), list(map(str, self.squares))]

    @classmethod
    def from_json(cls, value: Sequence[Any]) -> CoefficientSums:
        """From a receipt."""
        frames, values, squares = value
        return cls(int(frames), tuple(map(int, values)), tuple(map(int, squares)))

    def stats(self) -> CoefficientStats:
        """Mean and (population) variance, each correctly rounded from the exact sums."""
        means = [Fraction(value, _ONE * self.frames) for value in self.values]
        squares = [Fraction(square, _ONE * self.frames) for square in self.squares]
        variances = [max(Fraction(0), q - m * m) for m, q in zip(means, squares, strict=True)]
        return CoefficientStats(
            mean=tuple(map(float, means)), variance=tuple(map(float, variances))
        )


def coefficient_sums(
    windows: Sequence[bytes | memoryview], feature: ShardFeature, *, where: object
) -> CoefficientSums:
    """The sums over the frames of some windows, as they lie in a shard.

    Args:
        windows: the values of each.
        feature: what they are.
        where: the shard, for the error.

    Raises:
        BadFeatures: a value is not finite, or so large that its square is not.
    """
    dtype = np.dtype({"float32": "<f4", "float16": "<f2"}[feature.dtype])
    coefficients, frames = feature.shape
    values = [np.empty((0, coefficients))]
    squares = [np.empty((0, coefficients))]
    for start in range(0, len(windows), _AT_ONCE):
        some = windows[start : start + _AT_ONCE]
        whole = np.frombuffer(b"".join(some), dtype).reshape(len(some), coefficients, frames)
        wide = whole.astype(np.float64)
        values.append(wide.sum(axis=2))
        squares.append(np.multiply(wide, wide, out=wide).sum(axis=2))
    return CoefficientSums(
        frames * len(windows),
        _exact(np.concatenate(values), where),
        _exact(np.concatenate(squares), where),
    )


def total_coefficients(parts: Iterable[CoefficientSums], coefficients: int) -> CoefficientSums:
    """All of them."""
    frames, values, squares = 0, [0] * coefficients, [0] * coefficients
    for part in parts:
        frames += part.frames
        values = [a + b for a, b in zip(values, part.values, strict=True)]
        squares = [a + b for a, b in zip(squares, part.squares, strict=True)]
    return CoefficientSums(frames, tuple(values), tuple(squares))


def _exact(sums: NDArray[np.float64], where: object) -> tuple[int, ...]:
    """Sums over the records (first axis) of their own sums, as whole numbers."""
    scaled = np.rint(sums * _ONE)
    if not np.isfinite(scaled).all():
        raise BadFeatures(
            expected="features whose squares are finite",
            found="a value that is not a number, infinite or beyond 1e150",
            where=where,
            hint="audioloom-featurizer verify says where.",
        )
    if np.abs(scaled).max(initial=0) * len(sums) < 2.0**62:
        return tuple(scaled.astype(np.int64).sum(axis=0).tolist())
    return tuple(sum(map(int, column)) for column in scaled.T.tolist())
