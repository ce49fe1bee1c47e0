"""From what the rounds took to what is shown."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

from audioloom_bench.measure import FLOOR, NAIVE, Lane, paired

OURS = "audioloom"


def figures(
    found: Mapping[str, Sequence[float]],
    input_name: str,
    unit: str,
    *,
    amount: float | None = None,
    naive: str = NAIVE,
    floor: str = FLOOR,
) -> list[Lane]:
    """Medians, and medians of the ratios within a round.

    Args:
        found: what each lane took in each round; less is better.
        input_name: what the lanes were given.
        unit: of the values.
        amount: what each of them did for it: then values are that, divided by what it took.
        naive: the lane that stands for it; without it there are no such ratios.
        floor: the same.
    """

    def ratio(base: str, name: str) -> float:
        return paired(found[base], found[name]) if base in found else math.nan

    def value(name: str) -> float:
        taken = statistics.median(found[name])
        return taken if amount is None else amount / taken

    return [
        Lane(name, input_name, value(name), unit, ratio(naive, name), ratio(floor, name))
        for name in found
    ]


def single(input_name: str, value: float, unit: str) -> Lane:
    """A figure of ours that has nothing beside it."""
    return Lane(OURS, input_name, value, unit, math.nan, math.nan)
