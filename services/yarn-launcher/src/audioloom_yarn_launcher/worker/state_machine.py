"""The state machine of a worker: its next action, a pure function of its orders and its state.

The worker evaluates it after every change. So a hint that comes twice, late or never makes no
difference: equal orders and an equal state always give one action.
"""

from dataclasses import dataclass
from enum import Enum

from audioloom_yarn_launcher.rendezvous.messages import Orders


class Action(Enum):
    """One action of a worker."""

    CLAIM = "claim a rank"
    PREPARE = "end the old process, hold a new port and report that this worker is ready"
    START = "start the process"
    STOP = "end the process, because the generation is over"
    REPORT = "report how the process ended"
    LEAVE = "end the process and leave, because the run is over"
    WAIT = "wait until something changes"


@dataclass(frozen=True)
class State:
    """The state of a worker: its rank, the generation that it is ready for, and its process in it.

    Args:
        reported: it has reported how the process ended, or that there was none.
    """

    id: str
    rank: int | None = None
    generation: int | None = None
    started: bool = False
    running: bool = False
    reported: bool = False


def next_action(orders: Orders, mine: State) -> Action:
    """Return the next action of a worker."""
    if orders.over:
        return Action.LEAVE
    if mine.rank is None:
        return Action.CLAIM
    if orders.generation is None:
        return Action.WAIT
    if orders.generation != mine.generation:
        return Action.PREPARE
    return _within_generation(orders, mine, mine.rank)


def _within_generation(orders: Orders, mine: State, rank: int) -> Action:
    if mine.reported:
        return Action.WAIT
    if mine.started and not mine.running:
        return Action.REPORT
    holder = orders.membership.of(rank) if orders.membership is not None else None
    if holder is None or holder.id != mine.id:
        return Action.WAIT  # too late for this generation; the worker joins the next
    if orders.end is not None:
        return Action.STOP if mine.running else Action.REPORT
    return Action.WAIT if mine.running else Action.START
