"""The time limits of a run."""

import math
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Limits:
    """Limits in seconds, each measured by the coordinator's own clock.

    Args:
        registration_s: from when all workers have a container until all have registered.
        allocation_s: from the request until all workers have a container.
        execution_s: time in which the gang is complete and works, over all attempts.
    """

    registration_s: float
    allocation_s: float = math.inf
    execution_s: float = math.inf

    def after(self, executed_s: float) -> "Limits":
        """Return the limits of the next attempt, after *executed_s* seconds of work."""
        return replace(self, execution_s=max(0.0, self.execution_s - executed_s))
