"""Time limits of a gang: each part of its life has a limit of its own.

A worker is requested, gets a container (here: a process), registers with an address, and works with
the others. A wait in a queue and a hang in a container are different problems, and neither depends
on how long the work takes.
"""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from audioloom_yarn_launcher.rendezvous.backend import Workers
from audioloom_yarn_launcher.rendezvous.limits import Limits

Part = Literal["allocation", "registration"]
Chance = Callable[[], float]
"""A random number from 0 to 1."""

FIRST_PAUSE_S, MOST_PAUSE_S = 0.5, 60.0
MOST_PATIENCE = 1.25
"""Two runs may each hold the containers that the other waits for. One has to give them back first,
and neither knows of the other: so each waits longer than its limit by a random factor."""


def pause_s(restarts: int, chance: Chance = random.random) -> float:
    """Seconds before a restart: doubled with each restart, and spread at random.

    Args:
        restarts: number of earlier restarts.
        chance: spreads restarts that follow from one failure.
    """
    most = min(FIRST_PAUSE_S * 2.0**restarts, MOST_PAUSE_S)
    return most * (0.5 + 0.5 * chance())


def patience(chance: Chance = random.random) -> float:
    """Draw the factor on a gang's allocation limit, up to `MOST_PATIENCE`."""
    return 1 + (MOST_PATIENCE - 1) * chance()


@dataclass(frozen=True)
class Forming:
    """A gang that is not complete yet.

    Args:
        requested: when its workers were requested.
        placed: when all of them had a container; None while one has none.
        patience: factor of the allocation limit.
    """

    requested: float
    placed: float | None = None
    patience: float = 1.0

    def observe(self, now: float, *, pending: int) -> "Forming":
        """The gang after a look that found *pending* workers without a container."""
        if pending:
            return replace(self, placed=None)
        return self if self.placed is not None else replace(self, placed=now)

    @property
    def part(self) -> Part:
        """What the gang waits for."""
        return "allocation" if self.placed is None else "registration"

    def left(self, limits: Limits, now: float) -> float | None:
        """Seconds until the limit of this part, negative after the limit; None without a limit."""
        if self.placed is not None:
            return self.placed + limits.registration_s - now
        if limits.allocation_s is None:
            return None
        return self.requested + self.patience * limits.allocation_s - now


class FormationTimer:
    """The time left for requested workers to get their containers and to register.

    Args:
        workers: requested just now.
        limits: of the gang.
    """

    def __init__(self, workers: Workers, limits: Limits) -> None:
        self._workers, self._limits = workers, limits
        self._forming = Forming(time.monotonic(), patience=patience())

    @property
    def part(self) -> Part:
        """What the gang waits for."""
        return self._forming.part

    def left(self) -> float:
        """Seconds until the limit, negative after the limit; infinite without a limit."""
        pending = 0 if self._forming.placed is not None else self._workers.pending()
        now = time.monotonic()
        self._forming = self._forming.observe(now, pending=pending)
        left = self._forming.left(self._limits, now)
        return float("inf") if left is None else left
