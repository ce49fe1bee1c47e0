"""One worker and two under MultiWorkerMirroredStrategy on loopback: processor time of all of them.

Two of them on one machine show what working together costs; how much faster two machines are
shows on two machines.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial

from audioloom_bench.measure import Lane
from audioloom_bench.same_network import LIGHT
from audioloom_bench.training.figures import OURS, figures
from audioloom_bench.training.loops import fit, ours
from audioloom_bench.training.step_rate import TF_KERAS
from audioloom_bench.training.team import interleaved, team

AIM = 1.8
"""Times the steps of a processor's second that fit makes with two workers; shown, not demanded."""
LEAST = 1.25


def lanes(manifest: str, steps: int, rounds: int) -> list[Lane]:
    """Both loops with one worker and with two."""
    lanes: list[Lane] = []
    for size in (1, 2):
        with ExitStack() as stack:
            given = (LIGHT, manifest, steps)
            fitting = partial(fit, "tf_keras")
            found = interleaved(
                {
                    TF_KERAS: stack.enter_context(team(fitting, *given, size=size)),
                    OURS: stack.enter_context(team(ours, *given, size=size)),
                },
                rounds,
            )
        title = f"{size} worker{'s' * (size > 1)}"
        cpu = {name: [each.cpu for each in taken] for name, taken in found.items()}
        wall = {name: [each.seconds for each in taken] for name, taken in found.items()}
        lanes += figures(cpu, f"{title}, processor", "steps / core-s", amount=steps, naive=TF_KERAS)
        lanes += figures(wall, f"{title}, by the clock", "steps / s", amount=steps, naive=TF_KERAS)
    return lanes


def shortfall(lanes: Sequence[Lane]) -> list[str]:
    """Where two workers of ours cost more than they should; the aim is higher."""
    return [
        f"{lane.input}: {lane.vs_naive:.2f} times {TF_KERAS}, expected at least {LEAST:g}"
        for lane in lanes
        if lane.lane == OURS and lane.input == "2 workers, processor" and lane.vs_naive < LEAST
    ]
