"""Measure lanes side by side: interleaved rounds, CPU time, medians."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

NAIVE, FLOOR = "naive", "floor"


@dataclass(frozen=True)
class Lane:
    """One lane on one input: how much it does in a core-second, and beside the others."""

    lane: str
    input: str
    value: float
    unit: str
    vs_naive: float
    vs_floor: float


def measure(
    work: Mapping[str, Callable[[], object]],
    *,
    amount: float,
    unit: str,
    input_name: str,
    rounds: int,
) -> list[Lane]:
    """Run every lane in turn, *rounds* times, and compare medians of CPU time.

    The machine is shared: interleaving gives every lane the same neighbours, and CPU time leaves
    out what they take.

    Args:
        work: the lanes by name; `naive` and `floor` must be among them.
        amount: what one call does, in units of *unit* times core-seconds.
        unit: such as "audio-s / core-s".
        input_name: what the lanes were given.
        rounds: how often each lane runs after one unmeasured round.
    """
    seconds: dict[str, list[float]] = {name: [] for name in work}
    for lane in work.values():
        lane()
    for _ in range(rounds):
        for name, lane in work.items():
            begin = time.process_time()
            lane()
            seconds[name].append(time.process_time() - begin)
    median = {name: statistics.median(each) for name, each in seconds.items()}
    return [
        Lane(
            lane=name,
            input=input_name,
            value=amount / median[name],
            unit=unit,
            vs_naive=median[NAIVE] / median[name],
            vs_floor=median[FLOOR] / median[name],
        )
        for name in work
    ]
