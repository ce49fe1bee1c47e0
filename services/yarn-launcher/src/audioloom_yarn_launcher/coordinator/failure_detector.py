"""Detects frozen workers: their heartbeats stop, by the coordinator's own clock.

A heartbeat is a count that rises while the worker lives. A worker that is stopped (SIGSTOP), or
hangs with its machine, keeps its keys and its connection, so only the unchanged count reveals it.
The clocks of other machines do not matter. The coordinator itself may be stopped for a while, so it
counts only the time in which it looked.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from audioloom_yarn_launcher.rendezvous.kv import KeyValueStore

LOOK_EVERY_S = 1.0
MOST_BETWEEN_S = 2.0


@dataclass(frozen=True)
class Heartbeats:
    """The heartbeats of all workers at one moment.

    Args:
        at: the moment, in seconds of the coordinator's monotonic clock.
        counts: the last count of each worker, by its id.
        seconds: without a change of the count, by worker id.
    """

    at: float
    counts: Mapping[str, str] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)

    def due(self, at: float) -> bool:
        """Tell whether the next look is due."""
        return at - self.at >= LOOK_EVERY_S

    def silent_for(self, limit_s: float) -> dict[str, float]:
        """The workers whose count has not changed for *limit_s*, with the seconds of each."""
        return {each: seconds for each, seconds in self.seconds.items() if seconds >= limit_s}

    def observe(self, counts: Mapping[str, str], at: float) -> "Heartbeats":
        """The heartbeats after a look that read *counts*."""
        passed = min(at - self.at, MOST_BETWEEN_S)
        seconds = {
            worker: self.seconds[worker] + passed if self.counts.get(worker) == count else 0.0
            for worker, count in counts.items()
        }
        return Heartbeats(at, dict(counts), seconds)


class FailureDetector:
    """Reads the heartbeats of a store at intervals and finds the frozen workers.

    Args:
        store: the gang's store.
        prefix: of the keys of the heartbeats.
        limit_s: seconds without a change after which a worker is frozen.
    """

    def __init__(self, store: KeyValueStore, prefix: str, limit_s: float) -> None:
        self._store, self._prefix, self._limit_s = store, prefix, limit_s
        self._heartbeats = Heartbeats(time.monotonic())

    def frozen(self) -> dict[str, float]:
        """The frozen workers, with the seconds since the last heartbeat of each."""
        at = time.monotonic()
        if self._heartbeats.due(at):
            found = self._store.get_prefix(self._prefix).items()
            counts = {key.removeprefix(self._prefix): count for key, count in found}
            self._heartbeats = self._heartbeats.observe(counts, at)
        return self._heartbeats.silent_for(self._limit_s)
