"""Predict how much a run takes of something, with a range: from constants, fitted to earlier runs.

By constants, a run takes an amount to start, and more for its work, which grows with its input.
Earlier runs tell a factor for each of both: those with the least relative errors, held near 1 as
far as the constants are to be trusted (a ridge regression). Without earlier runs both are 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, sqrt

NOISE, NOISE_RUNS = 0.15, 4
"""How far runs usually scatter around a fit, relative, and the number of runs that count for it."""
SPREADS = 1.28
"""Standard errors in half a range, so that it holds four runs of five."""
MOST_FACTOR = 100.0
"""An earlier run that is further from the constants tells nothing: its record is wrong."""


@dataclass(frozen=True)
class Expected:
    """How much a run takes of something by constants.

    Args:
        start: what it takes whatever its size.
        work: what grows with its input.
        doubt: the relative standard error of both.
    """

    start: float
    work: float = 0.0
    doubt: float = 0.5


@dataclass(frozen=True)
class Earlier:
    """What an earlier run was expected to take by constants, and what it took."""

    start: float
    work: float
    actual: float


@dataclass(frozen=True)
class Range:
    """A prediction, the range that holds four runs of five, and the number of runs behind it."""

    least: float
    likely: float
    most: float
    runs: int


def predict(expected: Expected, earlier: Sequence[Earlier] = ()) -> Range:
    """Predict the amount of a run; a larger work is never predicted to take less."""
    known = [
        (run.start / run.actual, run.work / run.actual)
        for run in earlier
        if run.actual > 0 and 1 / MOST_FACTOR <= (run.start + run.work) / run.actual <= MOST_FACTOR
    ]
    ridge = (NOISE / expected.doubt) ** 2
    starts = ridge + sum(start * start for start, _ in known)
    works = ridge + sum(work * work for _, work in known)
    both = sum(start * work for start, work in known)
    start_factor, work_factor = _solve(
        starts, both, works, ridge + sum(start for start, _ in known),
        ridge + sum(work for _, work in known),
    )  # fmt: skip
    likely = start_factor * expected.start + work_factor * expected.work
    if not likely:
        return Range(0.0, 0.0, 0.0, len(known))
    errors = sum((1 - start_factor * start - work_factor * work) ** 2 for start, work in known)
    noise = (NOISE_RUNS * NOISE**2 + errors) / (NOISE_RUNS + len(known))
    start, work = expected.start / likely, expected.work / likely
    uncertain = works * start**2 - 2 * both * start * work + starts * work**2
    spread = SPREADS * sqrt(noise * (1 + max(0.0, uncertain) / (starts * works - both**2)))
    return Range(likely / (1 + spread), likely, likely * (1 + spread), len(known))


def _solve(a: float, b: float, c: float, x: float, y: float) -> tuple[float, float]:
    """Solve ``a s + b w = x`` and ``b s + c w = y``, with neither of s and w below 0."""
    determinant = a * c - b * b  # positive, as the ridge is
    s, w = (c * x - b * y) / determinant, (a * y - b * x) / determinant
    if s < 0:
        return 0.0, y / c
    return (x / a, 0.0) if w < 0 else (s, w)


def busiest(core_seconds: float, units: int, cores: int) -> float:
    """Return the seconds of the busiest of some cores, which share units of equal size."""
    return core_seconds / max(1, units) * ceil(max(1, units) / cores)
