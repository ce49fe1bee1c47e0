"""Detects frozen workers: their heartbeats stop, by the coordinator's own clock.

A heartbeat is a count that rises while the worker lives. A worker that is stopped (SIGSTOP), or
hangs with its machine, keeps its keys and its connection, so only the unchanged count reveals it.
The clocks of other machines do not matter. The coordinator itself may be stopped for a while, so it
counts only the time in which it looked.
"""

import time
from collections.abc import Callable

from audioloom_yarn_launcher.rendezvous.backend import KeyValueStore

LOOK_EVERY_S = 1.0
MOST_BETWEEN_S = 2.0


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
