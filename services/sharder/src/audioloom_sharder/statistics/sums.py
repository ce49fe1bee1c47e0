"""Exact sums: whole numbers whose mean and variance do not depend on the order of addition.

Sums of floats depend on their order, but shards must not. So values are whole multiples of a power
of two, and nothing is rounded before the end.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar, Self

from pydantic import PlainSerializer

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
