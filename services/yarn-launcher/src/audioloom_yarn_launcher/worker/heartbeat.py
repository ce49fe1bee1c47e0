"""A worker's thread beside its work: it says that it lives, and sees when its process stands still.

A process that is stopped (SIGSTOP) does not end, so that waiting for its end tells nothing; what it
is connected to may wait for it for ever. One that a debugger holds is in another state.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from audioloom_yarn_launcher.errors import StoreLost
from audioloom_yarn_launcher.rendezvous.kv import KeyValueStore, Put
from audioloom_yarn_launcher.rendezvous.messages import beat_key
from audioloom_yarn_launcher.system import processes

BEAT_EVERY_S = 1.0


@dataclass
class Watched:
    """A process that is looked at.

    Args:
        pid: its number.
        limit_s: for how long it may stand still.
        since: since when it does, by this machine's monotonic clock; None if it does not.
        frozen: it has for longer than that.
    """

    pid: int
    limit_s: float
    since: float | None = None
    frozen: bool = False

    def look(self, now: float) -> bool:
        """Look at it; whether it has just been found frozen."""
        if not processes.is_stopped(self.pid):
            self.since = None
        elif self.since is None:
            self.since = now
        elif not self.frozen and now - self.since >= self.limit_s:
            self.frozen = True
            return True
        return False


class Pulse:
    """What the thread and the worker share.

    Args:
        store: where the gang meets.
        me: id of the worker.
        changed: called, from the thread, when the process is found frozen.
        beside: it is not one of the gang.
    """

    def __init__(
        self, store: KeyValueStore, me: str, changed: Callable[[], None], *, beside: bool = False
    ) -> None:
        self._store, self._me, self._changed = store, me, changed
        self._key = beat_key(me, beside=beside)
        self._over = threading.Event()
        self.watched: Watched | None = None

    def start(self) -> None:
        """Begin."""
        threading.Thread(target=self._beat, name="pulse", daemon=True).start()

    def stop(self) -> None:
        """Say no more."""
        self._over.set()

    def _beat(self) -> None:
        count = 0
        while not self._over.is_set():
            try:
                self._store.transaction([], [Put(self._key, str(count), self._me)])
            except StoreLost:
                return  # the worker finds out by itself
            count += 1
            self._over.wait(BEAT_EVERY_S)
            watched = self.watched
            if watched is not None and watched.look(time.monotonic()):
                self._changed()
