"""Time limits of a gang: each part of its life has a limit of its own, and so has its silence.

A worker is requested, gets a container (here: a process), registers with an address, and works with
the others. A wait in a queue and a hang in a container are different problems, and neither depends
on how long the work takes.

A heartbeat is a count that rises while the worker lives. A worker that is stopped (SIGSTOP), or
hangs with its machine, keeps its keys and its connection, so only the unchanged count reveals it.
The clocks of other machines do not matter. The coordinator itself may be stopped for a while, so it
counts only the time in which it looked.
"""

import random
import time
from collections.abc import Callable
from typing import Literal

from audioloom_yarn_launcher.rendezvous.backend import KeyValueStore
from audioloom_yarn_launcher.rendezvous.limits import Limits

Part = Literal["allocation", "registration"]

LOOK_EVERY_S, MOST_BETWEEN_S = 1.0, 2.0
FIRST_PAUSE_S, MOST_PAUSE_S = 0.5, 60.0
MOST_PATIENCE = 1.25
"""Two runs may each hold the containers that the other waits for. One has to give them back first,
and neither knows of the other: so each waits longer than its limit by a random factor."""


def pause_s(restarts: int, chance: Callable[[], float] = random.random) -> float:
    """Seconds before a restart: doubled with each, and spread, since a failure may cause many."""
    doublings = min(restarts, 10)  # more reach the most too, and 1,024 of them no float
    most = min(FIRST_PAUSE_S * 2.0**doublings, MOST_PAUSE_S)
    return most * (0.5 + 0.5 * chance())


class FormationTimer:
    """The time left for requested workers to get their containers and to register.

    All are requested just now; *pending* counts those without a container.
    """

    def __init__(
        self,
        pending: Callable[[], int],
        limits: Limits,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._pending, self._limits, self._clock = pending, limits, clock
        self._requested = clock()
        self._placed: float | None = None
        self._patience = 1 + (MOST_PATIENCE - 1) * chance()

    @property
    def part(self) -> Part:
        """What the gang waits for."""
        return "allocation" if self._placed is None else "registration"

    @property
    def localising_s(self) -> float:
        """Seconds since all workers had a container, as far as it was looked at."""
        return 0.0 if self._placed is None else self._clock() - self._placed

    def left(self) -> float:
        """Seconds until the limit, negative after the limit; infinite without a limit."""
        if self._placed is None and not self._pending():
            self._placed = self._clock()
        if self._placed is not None:
            return self._placed + self._limits.registration_s - self._clock()
        return self._requested + self._patience * self._limits.allocation_s - self._clock()


class FailureDetector:
    """Reads the heartbeats below a prefix at intervals and finds the frozen workers.

    Their heartbeats have not changed for *limit_s* seconds.
    """

    def __init__(
        self,
        store: KeyValueStore,
        prefix: str,
        limit_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store, self._prefix, self._limit_s, self._clock = store, prefix, limit_s, clock
        self._at = clock()
        self._counts: dict[str, str] = {}
        self._silent_s: dict[str, float] = {}

    def frozen(self) -> dict[str, float]:
        """The frozen workers, with the seconds since the last heartbeat of each."""
        passed = self._clock() - self._at
        if passed >= LOOK_EVERY_S:
            self._at += passed
            self._look(min(passed, MOST_BETWEEN_S))
        return {each: s for each, s in self._silent_s.items() if s >= self._limit_s}

    def _look(self, passed: float) -> None:
        found = self._store.get_prefix(self._prefix).items()
        counts = {key.removeprefix(self._prefix): count for key, count in found}
        self._silent_s = {
            worker: self._silent_s[worker] + passed if self._counts.get(worker) == count else 0.0
            for worker, count in counts.items()
        }
        self._counts = counts
