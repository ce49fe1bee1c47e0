"""Failover: a new application master continues the launch of a lost one from its records.

YARN starts another master after a lost one, and also after one that ended a failed run. The new
master finds an empty store, and container names start over, so only the records tell the past.
"""

from dataclasses import dataclass

from audioloom_yarn_launcher.rendezvous.causes import Cause
from audioloom_yarn_launcher.runs.attempts import executed_s, read_attempts
from audioloom_yarn_launcher.runs.lease import close_lost
from audioloom_yarn_launcher.runs.run_spec import RunSpec


@dataclass(frozen=True)
class Recovered:
    """The state of a launch, recovered from its records.

    Args:
        attempts: number of its attempts, which count as restarts.
        executed_s: seconds in which the gang was complete in them.
    """

    attempts: int = 0
    executed_s: float = 0.0
    over: bool = False
    cause: Cause | None = None


def recover(spec: RunSpec) -> Recovered:
    """Read the attempts of this launch, and close the attempt that a lost coordinator left open.

    `max_restarts` limits the restarts by all coordinators of a launch together.
    """
    folder = spec.location
    mine = [each for each in read_attempts(folder) if each.started.launch == spec.launch]
    if not mine or spec.committed:
        return Recovered(len(mine))
    last = mine[-1]
    again = len(mine) <= spec.max_restarts
    if not last.open:
        return Recovered(len(mine), over=True, cause=last.cause)
    lost = close_lost(folder, last, restarts=again)
    if not again:
        return Recovered(len(mine), over=True, cause=lost)
    return Recovered(len(mine), executed_s(folder, mine))
