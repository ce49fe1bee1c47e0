"""A hundred terabytes, planned by the stages' own code: the bounds that make it practical."""

from __future__ import annotations

import math

import pytest
from audioloom_bench.measure import Lane
from audioloom_bench.scale import lanes_of, shortfall
from audioloom_bench.scaling.simulation import (
    CASES,
    CLOSURE,
    OPENS,
    Case,
    Figures,
    plan_shards,
    simulate,
)

SCALE = 100
"""Of a hundred units one is cut."""


@pytest.fixture(scope="module", params=CASES, ids=lambda case: case.name)
def planned(request: pytest.FixtureRequest) -> tuple[Case, Figures]:
    """A case, and what it takes."""
    return request.param, simulate(request.param, SCALE)


def test_every_bound_holds(planned: tuple[Case, Figures]) -> None:
    """Opens of the sharder, a NameNode's time, drivers, closures, folders."""
    case, figures = planned
    assert case.bounds.keys() == figures.bounded.keys()
    beyond = {name: value for name, value in figures.bounded.items() if value > case.bounds[name]}
    assert {} == beyond
    assert shortfall(lanes_of(case, figures)) is None


def test_the_cases_are_as_large_as_they_are_called(planned: tuple[Case, Figures]) -> None:
    """Files of hundreds of megabytes, shards of 128 MiB: nothing is left out."""
    case, figures = planned
    windows = 10**7 * (1 if case.windows == "first" else 63)
    assert 200 * 10**6 < windows * 50_080 / figures.files < 1.7 * 10**9
    assert pytest.approx(128 << 20, rel=0.02) == windows * 50_400 / figures.shards
    assert figures.calls["run"]["open"] > 10**7


def test_a_closure_does_not_grow_with_the_features() -> None:
    """Ten files or a thousand: the tasks read tables."""
    sizes = [plan_shards([5000] * files).closure for files in (10, 1000)]
    assert sizes[1] <= sizes[0] + 250  # numbers have more bytes


def test_a_bound_that_does_not_hold_is_named() -> None:
    """With what was found, and what was expected."""
    lanes = [
        Lane(OPENS, "case A", 6e6, "", math.nan, math.nan),
        Lane(CLOSURE, "case C", 10.0, "", math.nan, math.nan),
        Lane("shards", "case C", math.inf, "", math.nan, math.nan),
    ]
    assert f"case A: 6e+06 {OPENS}, expected at most 5,000,000" == shortfall(lanes)
