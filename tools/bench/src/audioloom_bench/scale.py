"""How the cost grows: two large cases by the planning code of the stages, and real small runs.

It fails where a bound of a large case does not hold, or a real run grows faster than its input.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence

from audioloom_bench.measure import Lane
from audioloom_bench.scaling import pipeline
from audioloom_bench.scaling.simulation import CASES, Case, Figures, simulate

PARTS = ("simulation", "runs")


def declare(parser: argparse.ArgumentParser) -> None:
    """The options of this benchmark."""
    parser.add_argument(
        "--part", nargs="+", choices=PARTS, default=[*PARTS], help="default: both of them"
    )
    parser.add_argument(
        "--sizes",
        nargs="+",
        type=int,
        default=[*pipeline.SIZES],
        help="recordings of the real runs (default 10,000, 100,000 and 300,000)",
    )


def bench(
    rounds: int, *, part: Sequence[str] = PARTS, sizes: Sequence[int] = pipeline.SIZES
) -> list[Lane]:
    """The parts that are asked for, once each: a real run takes as long as it takes."""
    del rounds
    lanes: list[Lane] = []
    if "simulation" in part:
        for case in CASES:
            lanes += lanes_of(case, simulate(case))
    if "runs" in part:
        lanes += pipeline.lanes(sizes)
    return lanes


def lanes_of(case: Case, figures: Figures) -> list[Lane]:
    """The figures of a large case."""
    rows: dict[str, float] = {
        "features files": figures.files,
        "shards": figures.shards,
        **{f"calls of {command}": calls.total() for command, calls in figures.calls.items()},
        **figures.bounded,
    }
    named = _input(case)
    return [Lane(name, named, value, "", math.nan, math.nan) for name, value in rows.items()]


def shortfall(lanes: Sequence[Lane]) -> str | None:
    """Name the bounds that do not hold."""
    beyond = [
        f"{lane.input}: {lane.value:,.6g} {lane.lane}, expected at most {case.bounds[lane.lane]:,}"
        for case in CASES
        for lane in lanes
        if lane.input == _input(case) and lane.value > case.bounds.get(lane.lane, math.inf)
    ]
    return "\n".join([*beyond, *pipeline.shortfall(lanes)]) or None


def _input(case: Case) -> str:
    return f"case {case.name}"
