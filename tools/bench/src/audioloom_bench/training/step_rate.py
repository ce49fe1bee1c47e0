"""Training in one process: steps a second of the fits and of the trainer's loop, and their cost.

The fits read whole batches by the better pipeline, unshuffled, so that loops are compared; one
lane has the naive pipeline. The floor is the trainer's loop on a batch that lies in memory.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial

from audioloom_bench.measure import FLOOR, NAIVE, Lane, paired
from audioloom_bench.same_network import DEFAULT, NETWORKS
from audioloom_bench.training.figures import OURS, figures, single
from audioloom_bench.training.loops import WAITED, fit, ours
from audioloom_bench.training.team import Taken, Work, interleaved, team

TF_KERAS, KERAS = "tf_keras fit", "Keras 3 fit"
MOST_WAITING = 2.0
"""Percent of the step; more is a failure."""
_TIMED = "timed"
"""The lane that takes the time of its input."""
SPEED, WAITING, TIMES = "by the clock", "waiting for input", "by the clock, times "
GOES = 3
"""Of each lane in a round: an epoch takes a second, and the fits' differ by half."""


def lanes(manifest: str, steps: int, rounds: int) -> list[Lane]:
    """Each network by each loop."""
    return [lane for name in NETWORKS for lane in _network(name, manifest, steps, rounds)]


def _network(network: str, manifest: str, steps: int, rounds: int) -> list[Lane]:
    given = (network, manifest, steps)
    with ExitStack() as stack:
        work: dict[str, Callable[..., Work]] = {
            NAIVE: partial(fit, "tf_keras", naive=True),
            TF_KERAS: partial(fit, "tf_keras"),
            KERAS: partial(fit, "keras"),
            OURS: ours,
            FLOOR: partial(ours, source="memory"),
            _TIMED: partial(ours, timed=True),
        }
        teams = {name: stack.enter_context(team(make, *given)) for name, make in work.items()}
        found = interleaved(teams, GOES * rounds)
        timed = found.pop(_TIMED)
        memory = {name: [teams[name].megabytes] for name in found}
    wall = {name: [each.seconds for each in taken] for name, taken in found.items()}
    cpu = {name: [each.cpu for each in taken] for name, taken in found.items()}
    return [
        *figures(wall, f"{network}, {SPEED}", "steps / s", amount=steps),
        *figures(cpu, f"{network}, processor", "steps / core-s", amount=steps),
        *figures(memory, f"{network}, memory", "MB"),
        *(
            single(f"{network}, {TIMES}{name}", paired(wall[name], wall[OURS]), "")
            for name in (TF_KERAS, KERAS)
        ),
        single(f"{network}, {WAITING}", _waited(timed), "% of the step"),
    ]


def least(network: str, name: str) -> float:
    """Times the steps a second of a fit, go by go; less is a failure."""
    return 1.25 if name == TF_KERAS and network != DEFAULT else 1.0


def _waited(taken: Sequence[Taken]) -> float:
    return statistics.median(100 * each.notes[WAITED] / each.seconds for each in taken)


def shortfall(lanes: Sequence[Lane]) -> list[str]:
    """What of ours is too slow, or waits too long."""
    value = {lane.input: lane.value for lane in lanes if lane.lane == OURS}
    told = []
    for network in NETWORKS:
        for name in (TF_KERAS, KERAS):
            times, needed = value.get(f"{network}, {TIMES}{name}", math.inf), least(network, name)
            if times < needed:
                told.append(f"{network}: {times:.2f} times {name}, expected at least {needed:g}")
        waited = value.get(f"{network}, {WAITING}", 0.0)
        if waited >= MOST_WAITING:
            told.append(
                f"{network}, {WAITING}: {waited:.1f} % of the step,"
                f" expected less than {MOST_WAITING:g}"
            )
    return told
