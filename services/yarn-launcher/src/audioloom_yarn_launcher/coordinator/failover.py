"""A coordinator in a later application master: what those before it, of the same launch, have left.

YARN starts another master when one is lost, and also when one has ended a run that failed. The
store is empty then and the names of containers begin anew; what has been is known from the records.
"""

from __future__ import annotations

from dataclasses import dataclass

from audioloom_yarn_launcher.rendezvous.causes import Cause
from audioloom_yarn_launcher.runs.attempts import FirstCause, cause_of, executed_s, read_attempts
from audioloom_yarn_launcher.runs.lease import Launch, close_lost


@dataclass(frozen=True)
class Legacy:
    """What is left to do.

    Args:
        attempts: how many this launch has made: they count as restarts of the next.
        executed_s: for how long the gang was complete in them.
        over: the launch has come to its end.
        cause: why it failed then, None if it did not.
    """

    attempts: int = 0
    executed_s: float = 0.0
    over: bool = False
    cause: Cause | None = None


def take_over(launch: Launch, max_restarts: int) -> Legacy:
    """Look for the attempts of this launch, and close the one that a lost coordinator left open.

    Args:
        launch: of this coordinator, and of those before it.
        max_restarts: how many of them all may restart the gang.
    """
    folder = launch.request.folder
    mine = [each for each in read_attempts(folder) if each.started.launch == launch.id]
    if not mine or launch.request.committed:
        return Legacy(len(mine))
    last = mine[-1]
    again = len(mine) <= max_restarts
    if last.ended is not None and not last.ended.restarts:
        return Legacy(len(mine), over=True, cause=cause_of(last.ended))
    lost = close_lost(folder, last, restarts=again)
    if not again:
        return Legacy(len(mine), over=True, cause=_lost(lost))
    return Legacy(len(mine), executed_s(folder, mine))


def _lost(told: FirstCause) -> Cause:
    return Cause("launcher-lost", told.text, told.exit_code, told.rank, tail=told.tail)
