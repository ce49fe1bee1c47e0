"""Exact mean and variance of the targets, in whatever order the records come.

A record holds its number as float32, and each of those is a whole multiple of 2^-149: so whole
numbers are added, and nothing is rounded before the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeGuard

import numpy as np
from audioloom_manifest import TargetStats

_BITS = 149
MOST_TARGET = float(np.finfo(np.float32).max)
"""The largest number that a record can hold."""


@dataclass(frozen=True)
class TargetSums:
    """Sums over some records.

    Attributes:
        records: how many were added.
        values: sum of the numbers, in units of 2^-149.
        squares: sum of their squares, in units of 2^-298.
    """

    records: int = 0
    values: int = 0
    squares: int = 0

    def to_json(self) -> list[Any]:
        """As a receipt holds it; in text, as JSON's readers round large numbers."""
        return [self.records, str(self.values), str(self.squares)]

    @classmethod
    def from_json(cls, value: Sequence[Any]) -> TargetSums:
        """From a receipt."""
        return cls(*map(int, value))

    def stats(self) -> TargetStats | None:
        """Mean and (population) variance, correctly rounded; None of nothing."""
        if not self.records:
            return None
        mean = Fraction(self.values, self.records << _BITS)
        square = Fraction(self.squares, self.records << 2 * _BITS)
        return TargetStats(mean=float(mean), variance=float(square - mean * mean))


NO_TARGETS = TargetSums()


def is_target(number: float | None) -> TypeGuard[float]:
    """Whether a record can hold it: finite, also as float32."""
    return number is not None and abs(number) <= MOST_TARGET


def target_sums(numbers: Iterable[float]) -> TargetSums:
    """The sums over records with these numbers."""
    stored = np.fromiter(numbers, np.float64).astype(np.float32).astype(np.float64)
    whole = list(map(int, np.ldexp(stored, _BITS).tolist()))
    return TargetSums(len(whole), sum(whole), sum(value * value for value in whole))


def total_targets(parts: Iterable[TargetSums]) -> TargetSums:
    """All of them."""
    records, values, squares = 0, 0, 0
    for part in parts:
        records += part.records
        values += part.values
        squares += part.squares
    return TargetSums(records, values, squares)
