"""Exact mean and variance of each coefficient, in whatever order the records come.

The sums of each record over its frames are rounded to whole multiples of 2^-20.
"""

from collections.abc import Sequence

import numpy as np
from audioloom_manifest.kinds import CoefficientStats, ShardFeature
from numpy.typing import NDArray
from pydantic import TypeAdapter

from audioloom_sharder.errors import BadFeatures
from audioloom_sharder.statistics.sums import ExactSums

_AT_ONCE = 8
"""Records whose values are widened to float64 at a time: 0.8 MB of (40, 313), for the cache."""


class CoefficientSums(ExactSums):
    """Sums over all frames of some records, for each coefficient."""

    VALUE_BITS = SQUARE_BITS = 20

    def stats(self) -> CoefficientStats:
        """Mean and variance of each coefficient."""
        mean, variance = self.moments()
        return CoefficientStats(mean=mean, variance=variance)


COEFFICIENT_SUMS = TypeAdapter(CoefficientSums)
"""The form of the sums in a receipt."""


def coefficient_sums(
    windows: Sequence[bytes | memoryview], feature: ShardFeature, *, where: object
) -> CoefficientSums:
    """Sum each coefficient over the frames of some windows of a shard.

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


def _exact(sums: NDArray[np.float64], where: object) -> tuple[int, ...]:
    """Add the sums of the records (first axis), as whole numbers."""
    scaled = np.rint(sums * (1 << CoefficientSums.VALUE_BITS))
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
