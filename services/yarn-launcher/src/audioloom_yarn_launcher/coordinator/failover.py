"""Failover: a later application master goes on where the lost one of the same launch stopped.

YARN starts another master when one is lost, and also after one that has ended a failed run. The
store is empty then, and the names of containers begin again; the records tell what happened before.
"""

from __future__ import annotations

from dataclasses import dataclass

from audioloom_yarn_launcher.rendezvous.causes import Cause
from audioloom_yarn_launcher.runs.attempts import FirstCause, cause_of, executed_s, read_attempts
from audioloom_yarn_launcher.runs.lease import Launch, close_lost


@dataclass(frozen=True)
class Recovered:
    """The state of a launch, recovered from its records.

    Args:
        attempts: number of its attempts, which count as restarts.
        executed_s: seconds in which the gang was complete in them.
        over: the launch has ended.
        cause: why it failed, None if it did not.
    """

    attempts: int = 0
    executed_s: float = 0.0
    over: bool = False
    cause: Cause | None = None


def take_over(launch: Launch, max_restarts: int) -> Recovered:
    """Read the attempts of this launch, and close the one that a lost coordinator left open.

    Args:
        launch: of this coordinator and its predecessors.
        max_restarts: restarts that all of them may make together.
    """
    folder = launch.request.folder
    mine = [each for each in read_attempts(folder) if each.started.launch == launch.id]
    if not mine or launch.request.committed:
        return Recovered(len(mine))
    last = mine[-1]
    again = len(mine) <= max_restarts
    if last.ended is not None and not last.ended.restarts:
        return Recovered(len(mine), over=True, cause=cause_of(last.ended))
    lost = close_lost(folder, last, restarts=again)
    if not again:
        return Recovered(len(mine), over=True, cause=_lost(lost))
    return Recovered(len(mine), executed_s(folder, mine))


def _lost(told: FirstCause) -> Cause:
    return Cause("launcher-lost", told.text, told.exit_code, told.rank, tail=told.tail)
