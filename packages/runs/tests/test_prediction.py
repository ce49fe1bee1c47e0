"""Predictions: bounds for any earlier runs, and what a series of runs teaches."""

from __future__ import annotations

import random
import statistics

import pytest
from audioloom_runs.prediction import MOST_FACTOR, Earlier, Expected, busiest, predict
from hypothesis import given
from hypothesis import strategies as st

AMOUNTS = st.just(0.0) | st.floats(1e-3, 1e12)
EARLIER = st.lists(
    st.builds(Earlier, start=AMOUNTS, work=AMOUNTS, actual=AMOUNTS | st.floats(0, 1e18)), max_size=8
)
DOUBTS = st.floats(0.05, 3)


@given(EARLIER, AMOUNTS, AMOUNTS, DOUBTS)
def test_the_range_holds_the_prediction(
    earlier: list[Earlier], start: float, work: float, doubt: float
) -> None:
    """Nothing is negative or infinite, whatever earlier runs are said to have taken."""
    found = predict(Expected(start, work, doubt), earlier)
    assert 0 <= found.least <= found.likely <= found.most < float("inf")
    assert 0 <= found.runs <= len(earlier)


@given(EARLIER, AMOUNTS, AMOUNTS, AMOUNTS, DOUBTS)
def test_more_work_is_never_predicted_to_take_less(
    earlier: list[Earlier], start: float, work: float, more: float, doubt: float
) -> None:
    """By the same earlier runs."""
    smaller = predict(Expected(start, work, doubt), earlier)
    assert smaller.likely <= predict(Expected(start, work + more, doubt), earlier).likely


@given(AMOUNTS, AMOUNTS)
def test_constants_alone_are_the_prediction_without_earlier_runs(start: float, work: float) -> None:
    """The range is wide, as nobody has measured anything here."""
    found = predict(Expected(start, work))
    assert (pytest.approx(start + work, rel=1e-3), 0) == (found.likely, found.runs)
    assert found.most >= 1.3 * found.likely


@pytest.mark.parametrize("actual", [0.0, 10 / MOST_FACTOR / 1.01, 10 * MOST_FACTOR * 1.01])
def test_a_record_that_cannot_be_true_is_passed_over(actual: float) -> None:
    """A run of no time, or far from all constants."""
    assert predict(Expected(4, 6)) == predict(Expected(4, 6), [Earlier(4, 6, actual)])


def test_nothing_takes_nothing() -> None:
    """A training in place has no cache."""
    found = predict(Expected(0, 0), [Earlier(0, 1, 2)])
    assert (0, 0, 0) == (found.least, found.likely, found.most)


def test_start_and_work_are_learned_apart() -> None:
    """Where the start takes twice and the work half of what the constants say."""
    earlier = [Earlier(10, work, 20 + work / 2) for work in (1, 10, 100, 40, 300)]
    for work in (5, 50, 500):
        found = predict(Expected(10, work), earlier)
        assert 20 + work / 2 == pytest.approx(found.likely, rel=0.15)
        assert found.most < 1.4 * found.likely


def test_one_run_narrows_the_range() -> None:
    """Also for runs of another size, and more so for runs of its own."""
    widths = [
        (found := predict(Expected(10, 20), earlier)).most / found.likely
        for earlier in ([], [Earlier(10, 200, 210)], [Earlier(10, 20, 30)])
    ]
    assert widths == sorted(widths, reverse=True)


def test_ranges_hold_about_four_runs_of_five() -> None:
    """Of simulated machines, each with a speed of its own and noise from run to run."""
    draw = random.Random(7)  # noqa: S311 - no secret
    inside = errors = 0
    misses: list[float] = []
    for _ in range(200):
        speeds = [draw.lognormvariate(0, 0.4) for _ in range(2)]
        earlier: list[Earlier] = []
        for _ in range(6):
            work = draw.choice([2.0, 10.0, 50.0])
            actual = (10 * speeds[0] + work * speeds[1]) * draw.lognormvariate(0, 0.15)
            found = predict(Expected(10, work), earlier)
            inside += found.least <= actual <= found.most
            errors += 1
            misses.append(abs(found.likely - actual) / actual)
            earlier.append(Earlier(10, work, actual))
    assert 0.7 < inside / errors < 0.92
    assert statistics.median(misses) < 0.2


@pytest.mark.parametrize(
    ("units", "cores", "seconds"), [(0, 2, 100), (1, 2, 100), (2, 2, 50), (3, 2, 200 / 3)]
)
def test_the_busiest_core_decides(units: int, cores: int, seconds: float) -> None:
    """One unit occupies one core, and three on two cores leave one waiting."""
    assert seconds == pytest.approx(busiest(100, units, cores))
