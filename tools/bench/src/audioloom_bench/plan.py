"""How near predictions come: runs of several sizes below one root, predicted and then measured.

The first run of a stage is predicted by constants alone, each later one by the runs before it. It
fails where the median error is too large.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from audioloom_manifest.envelope import Cost
from audioloom_manifest.reader import read_manifest

from audioloom_bench.measure import Lane
from audioloom_bench.scaling.pipeline import MASTER, PATTERN, make_recordings

SIZES = (1000, 3000, 10_000, 500, 30_000, 6000, 20_000)
"""Recordings of each run of the three stages: they grow, and do not grow."""
SECONDS = 5.0
"""Length of a recording."""
EPOCHS = 10
MOST_ERROR = 0.25
OTHERS = ("memory_bytes", "stored_bytes")
MEDIAN, CONSTANTS, INSIDE = "median error", "median error of constants alone", "inside the range"


@dataclass(frozen=True)
class Ran:
    """One run: what was predicted, and what it took, in the manifest and by a clock around it."""

    stage: str
    recordings: int
    costs: Mapping[str, Cost]
    clock: float
    load: float
    """The load of the machine when it began."""

    @property
    def cost(self) -> Cost:
        """That of the time."""
        return self.costs["seconds"]

    @property
    def actual(self) -> float:
        """The seconds in its manifest."""
        return self.cost.actual or math.nan

    @property
    def error(self) -> float:
        """Of the prediction, relative to what the run took."""
        return self.error_of("seconds")

    @property
    def constants_error(self) -> float:
        """Of the constants alone."""
        return abs(self.cost.start + self.cost.work - self.actual) / self.actual

    def error_of(self, quantity: str) -> float:
        """Of the prediction of one quantity."""
        cost = self.costs[quantity]
        return abs(cost.likely / cost.actual - 1) if cost.actual else math.nan

    @property
    def inside(self) -> bool:
        """Whether the run took what the range says."""
        return self.cost.least <= self.actual <= self.cost.most


def declare(parser: argparse.ArgumentParser) -> None:
    """The options of this benchmark."""
    parser.add_argument(
        "--sizes", nargs="+", type=int, default=[*SIZES], help="recordings of the runs, in order"
    )


def bench(rounds: int, *, sizes: Sequence[int] = SIZES) -> list[Lane]:
    """Three runs for each size, once."""
    del rounds
    found: list[Ran] = []
    with tempfile.TemporaryDirectory(prefix="audioloom-bench-") as folder:
        for number, size in enumerate(sizes):
            for each in pipeline(Path(folder), number, size):
                print(line(each), file=sys.stderr)
                found.append(each)
    return lanes_of(found)


def pipeline(folder: Path, number: int, size: int) -> Iterator[Ran]:
    """Take so many new recordings through the stages, below the root of all runs."""
    source, root = folder / f"source {number}", folder / "root"
    make_recordings(source, size, SECONDS)
    spark = f"--master={MASTER}"
    made, _ = _command("featurizer", "scan", source, f"--root={root}", f"--pattern={PATTERN}")
    for stage, words in (
        ("featurizer", (spark, f"--window-seconds={SECONDS}")),
        ("sharder", (spark,)),
        ("trainer", (f"--epochs={EPOCHS}",)),
    ):
        load = os.getloadavg()[0]
        made, clock = _command(stage, "run", made, *words)
        costs = read_manifest(made).manifest.execution.cost
        yield Ran(stage, size, costs, clock, load)


def _command(stage: str, *words: object) -> tuple[str, float]:
    command = [sys.executable, "-m", f"audioloom_{stage}", *map(str, words), "--quiet"]
    begin = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}")
    return done.stdout.strip(), time.monotonic() - begin


def line(ran: Ran) -> str:
    """One run as a line of text."""
    cost = ran.cost
    others = (
        f"{name} {one.likely / 1e6:,.0f} and {(one.actual or 0) / 1e6:,.0f} MB"
        for name, one in ran.costs.items()
        if name in OTHERS
    )
    return (
        f"{ran.stage:<10} {ran.recordings:>6,} recordings: predicted {cost.likely:5.1f} s"
        f" ({cost.least:.1f} to {cost.most:.1f}) by {cost.runs} runs, constants"
        f" {cost.start:.1f} + {cost.work:.1f}, took {ran.actual:5.1f} s, error {ran.error:.0%},"
        f" by the clock {ran.clock:.1f} s, load {ran.load:.1f}, {', '.join(others)}"
    )


def lanes_of(found: Sequence[Ran]) -> list[Lane]:
    """The figures of each run, and of all."""
    lanes: list[Lane] = []

    def add(name: str, what: str, value: float, unit: str) -> None:
        lanes.append(Lane(what, name, value, unit, math.nan, math.nan))

    for number, ran in enumerate(found, 1):
        name = f"{number:2} {ran.stage}, {ran.recordings:,} recordings"
        add(name, f"predicted by {ran.cost.runs} runs", ran.cost.likely, "s")
        add(name, "took", ran.actual, "s")
        add(name, "by the clock", ran.clock, "s")
        add(name, "error", 100 * ran.error, "%")
    every = f"all {len(found)} runs"
    add(every, MEDIAN, 100 * statistics.median(ran.error for ran in found), "%")
    clocks = (abs(ran.cost.likely - ran.clock) / ran.clock for ran in found)
    add(every, f"{MEDIAN} by the clock", 100 * statistics.median(clocks), "%")
    add(every, CONSTANTS, 100 * statistics.median(ran.constants_error for ran in found), "%")
    add(every, INSIDE, 100 * statistics.mean(ran.inside for ran in found), "%")
    for quantity in OTHERS:
        errors = [ran.error_of(quantity) for ran in found]
        add(every, f"{MEDIAN} of {quantity}", 100 * statistics.median(errors), "%")
    add(every, "median load of the machine", statistics.median(ran.load for ran in found), "")
    return lanes


def shortfall(lanes: Sequence[Lane]) -> str | None:
    """Whether the predictions are too far off."""
    error = next(lane.value for lane in lanes if lane.lane == MEDIAN)
    if error <= 100 * MOST_ERROR:
        return None
    return f"{MEDIAN}: {error:.0f} %, expected at most {100 * MOST_ERROR:.0f} %"
