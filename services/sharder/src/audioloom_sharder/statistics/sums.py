"""Exact sums: whole numbers whose mean and variance do not depend on the order of addition.

Sums of floats depend on their order, but shards must not. So values are whole multiples of a power
of two, and nothing is rounded before the end.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self


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
    values: tuple[int, ...] = ()
    squares: tuple[int, ...] = ()

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

    def to_json(self) -> list[Any]:
        """Convert to the form in a receipt, with numbers as text: JSON readers round large ones."""
        return [self.count, list(map(str, self.values)), list(map(str, self.squares))]

    @classmethod
    def from_json(cls, value: Sequence[Any]) -> Self:
        """Read the sums in a receipt."""
        count, values, squares = value
        return cls(int(count), tuple(map(int, values)), tuple(map(int, squares)))
