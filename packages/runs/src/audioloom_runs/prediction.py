"""Predict how much a run takes of something, with a range: from constants, fitted to earlier runs.

By constants, a run takes an amount to start, and more for its work, which grows with its input.
Each of both has a factor, whose logarithm is 0 as far as the constants are to be trusted (a normal
prior). Earlier runs change it: logarithms of what they took are fitted by least squares.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, exp, log, sqrt

from audioloom_manifest.envelope import Cost

NOISE, NOISE_RUNS = 0.2, 4
"""How far runs usually scatter around a fit, relative, and the number of runs that count for it."""
SPREADS = 1.28
"""Standard errors in half a range, so that it holds four runs of five."""
MOST_FACTOR = 100.0
"""An earlier run that is further from the constants tells nothing: its record is wrong."""
MOST_AMOUNT = 1e18
"""The largest amount that a manifest holds."""
_ITERATIONS = 20


@dataclass(frozen=True)
class Expected:
    """How much a run takes of something by constants.

    Args:
        start: what it takes whatever its size.
        work: what grows with its input.
        doubt: the standard error of the logarithm of each, so about the relative one.
    """

    start: float
    work: float = 0.0
    doubt: float = 0.4


@dataclass(frozen=True)
class Earlier:
    """What an earlier run was expected to take by constants, and what it took."""

    start: float
    work: float
    actual: float


def predict(expected: Expected, earlier: Sequence[Earlier] = ()) -> Cost:
    """Predict the amount of a run, to four digits; more work is never predicted to take less."""
    known = [
        run
        for run in earlier
        if run.actual > 0 and 1 / MOST_FACTOR <= (run.start + run.work) / run.actual <= MOST_FACTOR
    ]
    fit = _Fit((NOISE / expected.doubt) ** 2)
    for _ in range(_ITERATIONS):
        fit = fit.improved(known)
    likely = fit.of(expected)
    errors = sum(log(run.actual / fit.of(run)) ** 2 for run in known)
    noise = (NOISE_RUNS * NOISE**2 + errors) / (NOISE_RUNS + len(known))
    spread = exp(SPREADS * sqrt(noise * (1 + fit.doubt(expected))))
    return Cost(
        start=_rounded(expected.start),
        work=_rounded(expected.work),
        runs=len(known),
        least=_rounded(likely / spread),
        likely=_rounded(likely),
        most=_rounded(likely * spread),
    )


@dataclass(frozen=True)
class _Fit:
    """The logarithms of both factors, and the matrix ((a, b), (b, c)) of the normal equations."""

    ridge: float
    start: float = 0.0
    work: float = 0.0
    a: float = 1.0
    b: float = 0.0
    c: float = 1.0

    def of(self, run: Expected | Earlier) -> float:
        """The amount that the fit gives."""
        return exp(self.start) * run.start + exp(self.work) * run.work

    def improved(self, known: Sequence[Earlier]) -> "_Fit":
        """Do a step of Gauss and Newton: the derivatives are the shares of start and work."""
        a, b, c = self.ridge, 0.0, self.ridge
        x, y = -self.ridge * self.start, -self.ridge * self.work
        for run in known:
            share, error = self._share(run), log(run.actual / self.of(run))
            a, b, c = a + share**2, b + share * (1 - share), c + (1 - share) ** 2
            x, y = x + share * error, y + (1 - share) * error
        determinant = a * c - b * b
        start, work = (c * x - b * y) / determinant, (a * y - b * x) / determinant
        return _Fit(self.ridge, self.start + _step(start), self.work + _step(work), a, b, c)

    def doubt(self, run: Expected) -> float:
        """The variance of the fit for a run, in units of that of the noise."""
        share = self._share(run)
        spread = self.c * share**2 - 2 * self.b * share * (1 - share) + self.a * (1 - share) ** 2
        return spread / (self.a * self.c - self.b**2)

    def _share(self, run: Expected | Earlier) -> float:
        whole = self.of(run)
        return exp(self.start) * run.start / whole if whole else 0.0


def _step(amount: float) -> float:
    """Bound a step, since a long one may lead away."""
    return max(-1.0, min(1.0, amount))


def _rounded(amount: float) -> float:
    return min(float(f"{amount:.4g}"), MOST_AMOUNT)


def busiest(core_seconds: float, units: int, cores: int) -> float:
    """Return the seconds of the busiest of some cores, which share units of equal size."""
    return core_seconds / max(1, units) * ceil(max(1, units) / cores)
