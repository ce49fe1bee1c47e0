"""How long each part of a gang's life may take, and which limit is over: by the clock that counts.

A worker is asked for, is given a place (a container; here a process), comes with an address, and
works with the others. Who waits in a queue is another one's business than who hangs in a container,
and neither says anything of how long the work takes: so each has a limit of its own.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

Part = Literal["allocation", "registration"]
Chance = Callable[[], float]
"""A number from 0 to 1, another one each time."""

FIRST_PAUSE_S, MOST_PAUSE_S = 0.5, 60.0
MOST_PATIENCE = 1.25
"""Of two runs that each hold what the other waits for, one has to give it back first: none knows of
the other, so how much longer than asked each waits for containers is left to chance."""


def pause_s(restarts: int, chance: Chance = random.random) -> float:
    """Seconds until something is started anew: twice as many each time, and not the same for all.

    Args:
        restarts: how often it was before.
        chance: who failed together does not come back together.
    """
    most = min(FIRST_PAUSE_S * 2.0**restarts, MOST_PAUSE_S)
    return most * (0.5 + 0.5 * chance())


def patience(chance: Chance = random.random) -> float:
    """How many times the limit of allocation one waits: from 1 to `MOST_PATIENCE`."""
    return 1 + (MOST_PATIENCE - 1) * chance()


@dataclass(frozen=True)
class Limits:
    """Seconds, each counted by the coordinator's own clock.

    Args:
        registration_s: from when all workers have a place until all have come.
        allocation_s: from when they are asked for until all have a place; None for ever.
        execution_s: for how long the gang may be complete and at work, over all its attempts;
            waiting does not count. None for ever.
    """

    registration_s: float
    allocation_s: float | None = None
    execution_s: float | None = None

    def after(self, executed_s: float) -> Limits:
        """What is left for the next attempt, when one has worked for so long."""
        if self.execution_s is None:
            return self
        return replace(self, execution_s=max(0.0, self.execution_s - executed_s))


@dataclass(frozen=True)
class Forming:
    """Since when a gang forms.

    Args:
        asked: when its workers were asked for.
        placed: since when all of them have a place, None while one has not.
        patience: how many times the limit of allocation it waits for that.
    """

    asked: float
    placed: float | None = None
    patience: float = 1.0

    def seen(self, now: float, *, unplaced: int) -> Forming:
        """What is known when so many workers are seen to have no place at this moment."""
        if unplaced:
            return replace(self, placed=None)
        return self if self.placed is not None else replace(self, placed=now)

    @property
    def part(self) -> Part:
        """What is waited for."""
        return "allocation" if self.placed is None else "registration"

    def left(self, limits: Limits, now: float) -> float | None:
        """Seconds until the limit of this part is over, negative if it is; None if it has none."""
        if self.placed is not None:
            return self.placed + limits.registration_s - now
        if limits.allocation_s is None:
            return None
        return self.asked + self.patience * limits.allocation_s - now
