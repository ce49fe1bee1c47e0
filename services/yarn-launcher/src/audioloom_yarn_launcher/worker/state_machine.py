"""What a worker does next, decided from what it is told and what it has done: nothing else.

The worker asks again after every change, so that a hint that came twice, late or not at all
changes nothing: the same orders and the same standing always give the same step.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from audioloom_yarn_launcher.rendezvous.messages import Orders


class Step(Enum):
    """One thing to do."""

    CLAIM = "claim a rank"
    PREPARE = "end what runs, hold a fresh port and say that this worker is ready"
    START = "start the process"
    STOP = "end the process, because the generation is over"
    REPORT = "say how the process ended"
    LEAVE = "end what runs and leave: the run is over"
    WAIT = "wait until something changes"


@dataclass(frozen=True)
class Standing:
    """How far a worker has come.

    Args:
        id: who it is.
        rank: the rank that it holds.
        generation: the one that it is ready for.
        started: it has started its process in this generation.
        running: the process has not ended.
        reported: it has said how the process ended, or that there was none.
    """

    id: str
    rank: int | None = None
    generation: int | None = None
    started: bool = False
    running: bool = False
    reported: bool = False


def next_step(orders: Orders, mine: Standing) -> Step:
    """The next step of a worker."""
    if orders.over:
        return Step.LEAVE
    if mine.rank is None:
        return Step.CLAIM
    if orders.generation is None:
        return Step.WAIT
    if orders.generation != mine.generation:
        return Step.PREPARE
    return _within_generation(orders, mine, mine.rank)


def _within_generation(orders: Orders, mine: Standing, rank: int) -> Step:
    if mine.reported:
        return Step.WAIT
    if mine.started and not mine.running:
        return Step.REPORT
    holder = orders.roster.of(rank) if orders.roster is not None else None
    if holder is None or holder.id != mine.id:
        return Step.WAIT  # a worker that took over this rank too late runs in the next generation
    if orders.end is not None:
        return Step.STOP if mine.running else Step.REPORT
    return Step.WAIT if mine.running else Step.START
