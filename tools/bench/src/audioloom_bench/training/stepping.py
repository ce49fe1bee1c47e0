"""Training in one process: steps a second of the fits and of the trainer's loop, and their cost.

The fits read whole batches by the better pipeline, unshuffled, so that loops are compared; one
lane has the naive pipeline. The floor is the trainer's loop on a batch that lies in memory.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial

from audioloom_bench.measure import FLOOR, NAIVE, Lane
from audioloom_bench.same_network import NETWORKS
from audioloom_bench.training.figures import OURS, figures, single
from audioloom_bench.training.loops import WAITED, fit, ours
from audioloom_bench.training.team import Work, interleaved, team

TF_KERAS, KERAS = "tf_keras fit", "Keras 3 fit"
LEAST = {TF_KERAS: 1.25, KERAS: 1.0}
"""Times the steps a second of the fits; less is a failure."""
MOST_WAITING = 2.0
"""Percent of the step; more is a failure."""
SPEED, WAITING = "by the clock", "waiting for input"
_TIMED = "timed"


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
            _TIMED: partial(ours, timed=True),
            FLOOR: partial(ours, source="memory"),
        }
        teams = {name: stack.enter_context(team(make, *given)) for name, make in work.items()}
        found = interleaved(teams, rounds)
        timed = found.pop(_TIMED)
        memory = {name: [teams[name].megabytes] for name in found}
    wall = {name: [each.seconds for each in taken] for name, taken in found.items()}
    cpu = {name: [each.cpu for each in taken] for name, taken in found.items()}
    waited = statistics.median(100 * each.notes[WAITED] / each.seconds for each in timed)
    return [
        *figures(wall, f"{network}, {SPEED}", "steps / s", amount=steps),
        *figures(cpu, f"{network}, processor", "steps / core-s", amount=steps),
        *figures(memory, f"{network}, memory", "MB"),
        single(f"{network}, {WAITING}", waited, "% of the step"),
    ]


def shortfall(lanes: Sequence[Lane]) -> list[str]:
    """What of ours is too slow, or waits too long."""
    told = []
    for network in NETWORKS:
        speed = {lane.lane: lane.vs_naive for lane in lanes if lane.input == f"{network}, {SPEED}"}
        for name, least in LEAST.items():
            if name in speed and (times := speed[OURS] / speed[name]) < least:
                told.append(f"{network}: {times:.2f} times {name}, expected at least {least:g}")
        told += [
            f"{lane.input}: {lane.value:.1f} % of the step, expected less than {MOST_WAITING:g}"
            for lane in lanes
            if lane.input == f"{network}, {WAITING}" and lane.value >= MOST_WAITING
        ]
    return told
