"""Measure lanes side by side: interleaved rounds, medians."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

NAIVE, FLOOR = "naive", "floor"


@dataclass(frozen=True)
class Lane:
    """One lane on one input: how much it does in a second, and how often as much as others."""

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
    clock: Callable[[], float] = time.process_time,
) -> list[Lane]:
    """Run every lane in turn, *rounds* times, and compare them round by round.

    The machine is shared: interleaving, every other round backwards, gives each lane the same
    neighbours; ratios are taken within a round, so what slows a whole round down does not count.
    CPU time, the default, leaves out what neighbours take; other processes that work for a lane do
    not show in it.

    Args:
        work: the lanes by name; `naive` and `floor` must be among them.
        amount: what one call does, in units of *unit* times core-seconds.
        unit: such as "audio-s / core-s".
        input_name: what the lanes were given.
        rounds: how often each lane runs after one unmeasured round.
        clock: seconds.
    """
    seconds: dict[str, list[float]] = {name: [] for name in work}
    for lane in work.values():
        lane()
    names = list(work)
    for number in range(rounds):
        for name in names[::-1] if number % 2 else names:
            begin = clock()
            work[name]()
            seconds[name].append(clock() - begin)

    return [
        Lane(
            lane=name,
            input=input_name,
            value=amount / statistics.median(seconds[name]),
            unit=unit,
            vs_naive=paired(seconds[NAIVE], seconds[name]),
            vs_floor=paired(seconds[FLOOR], seconds[name]),
        )
        for name in work
    ]


def paired(theirs: Sequence[float], own: Sequence[float]) -> float:
    """How often as much they took: the median of the ratios within each round."""
    return statistics.median(a / b for a, b in zip(theirs, own, strict=True))
