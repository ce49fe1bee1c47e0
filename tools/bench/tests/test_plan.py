"""The figures of the benchmark of predictions, from runs that are made up."""

from __future__ import annotations

import pytest
from audioloom_bench.plan import CONSTANTS, INSIDE, MEDIAN, Ran, lanes_of, line, shortfall
from audioloom_manifest.envelope import Cost


def ran(likely: float, actual: float | None, recordings: int = 100) -> Ran:
    """A run of constants 10 + 10, with a range of half and twice the prediction."""
    cost = Cost(
        start=10, work=10, runs=2, least=likely / 2, likely=likely, most=2 * likely, actual=actual
    )
    costs = dict.fromkeys(("seconds", "memory_bytes", "stored_bytes"), cost)
    return Ran("sharder", recordings, costs, clock=30, load=1.5)


def figures(*runs: Ran) -> dict[str, float]:
    """The figures of all runs by name."""
    return {lane.lane: lane.value for lane in lanes_of(runs) if lane.input.startswith("all")}


def test_errors_are_relative_to_what_a_run_took() -> None:
    """Whichever way they go; the constants alone stand beside the prediction."""
    found = figures(ran(30, 20), ran(10, 40), ran(22, 20))
    assert pytest.approx(50) == found[MEDIAN]
    assert pytest.approx(0) == found[CONSTANTS]
    assert pytest.approx(200 / 3) == found[INSIDE]
    assert pytest.approx(50) == found[f"{MEDIAN} of stored_bytes"]


@pytest.mark.parametrize(("likely", "enough"), [(24.9, True), (25.1, False), (14.9, False)])
def test_predictions_that_are_too_far_off_are_a_failure(likely: float, enough: bool) -> None:
    """A quarter is allowed."""
    told = shortfall(lanes_of([ran(likely, 20)]))
    assert enough == (told is None)
    assert enough or "expected at most 25 %" in str(told)


def test_a_run_is_a_line() -> None:
    """With range, basis and both clocks."""
    told = line(ran(30, 20, 1000))
    assert "sharder     1,000 recordings: predicted  30.0 s (15.0 to 60.0) by 2 runs" in told
    assert "took  20.0 s, error 50%, by the clock 30.0 s, load 1.5" in told
