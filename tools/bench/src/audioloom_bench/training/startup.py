"""From the start of a process to its first finished step: `audioloom-trainer run`, and the least.

The floor imports TensorFlow, builds the same network and does one step of it on a batch that lies
in memory: what nobody gets around. Processor time includes Python's own start.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

from audioloom_bench.measure import FLOOR, Lane
from audioloom_bench.training.figures import OURS, figures
from audioloom_bench.training.team import Taken

MOST = 1.2
"""Times the floor's processor time; more is a failure."""
COST = "to the first step, processor"


def lanes(manifest: str, steps: int, rounds: int) -> list[Lane]:
    """Both ways in turn; an epoch is never finished, so *steps* does not matter."""
    del steps
    names = [FLOOR, OURS]
    found: dict[str, list[Taken]] = {name: [] for name in names}
    for number in range(rounds + 1):
        for name in names[::-1] if number % 2 else names:
            found[name].append(first_step(name, manifest))
    cpu = {name: [each.cpu for each in taken[1:]] for name, taken in found.items()}
    wall = {name: [each.seconds for each in taken[1:]] for name, taken in found.items()}
    return [
        *figures(cpu, COST, "core-s"),
        *figures(wall, "to the first step, by the clock", "s"),
    ]


def shortfall(lanes: Sequence[Lane]) -> list[str]:
    """Whether the first step costs too much."""
    return [
        f"{COST}: {1 / lane.vs_floor:.2f} times TensorFlow's own, expected at most {MOST:g}"
        for lane in lanes
        if lane.input == COST and lane.lane == OURS and 1 / lane.vs_floor > MOST
    ]


def first_step(name: str, manifest: str) -> Taken:
    """Start a process, and end it when it says that it has done a step."""
    words = [sys.executable, "-m", "audioloom_bench.training.first_step", name, manifest]
    begin = time.perf_counter()
    with (
        tempfile.TemporaryDirectory(prefix="audioloom-bench-") as root,
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            [*words, root], stdout=subprocess.PIPE, stderr=errors, text=True, env=_variables()
        ) as process,
    ):
        assert process.stdout is not None  # noqa: S101 - a pipe was asked for
        line = process.stdout.readline()
        seconds = time.perf_counter() - begin
        process.kill()
        if not line:
            errors.seek(0)
            raise RuntimeError(f"{name} ended early:\n{errors.read()[-3000:]}")
    return Taken(seconds, float(line))


def _variables() -> dict[str, str]:
    ours = ("MALLOC_", "OMP_", "OPENBLAS_", "AUDIOLOOM_", "TF_CONFIG")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}
