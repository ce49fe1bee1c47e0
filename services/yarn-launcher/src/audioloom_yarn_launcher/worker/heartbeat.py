"""The heartbeat thread of a worker, which also watches the worker's process.

A process that SIGSTOP stopped does not end, so a wait for its end never returns, and its peers may
wait for it without limit. A process in a debugger is in another state.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from audioloom_yarn_launcher.errors import StoreLost
from audioloom_yarn_launcher.rendezvous.backend import KeyValueStore, Put
from audioloom_yarn_launcher.rendezvous.messages import HEARTBEAT, SIDECAR_HEARTBEAT
from audioloom_yarn_launcher.system import processes

HEARTBEAT_EVERY_S = 1.0


@dataclass
class WatchedProcess:
    """A process, and *since* when it is stopped; after *limit_s* seconds of that it is frozen."""

    pid: int
    limit_s: float
    since: float | None = None
    frozen: bool = False

    def look(self, now: float) -> bool:
        """Check the process; return whether this check is the first to find it frozen."""
        if not processes.is_stopped(self.pid):
            self.since = None
        elif self.since is None:
            self.since = now
        elif not self.frozen and now - self.since >= self.limit_s:
            self.frozen = True
            return True
        return False


class Heartbeat:
    """The heartbeats of a worker, sent by a thread that also watches its process.

    The thread calls *changed* when it finds the process frozen.
    """

    def __init__(
        self, store: KeyValueStore, me: str, changed: Callable[[], None], *, sidecar: bool = False
    ) -> None:
        self._store, self._me, self._changed = store, me, changed
        self._key = f"{SIDECAR_HEARTBEAT if sidecar else HEARTBEAT}{me}"
        self._over = threading.Event()
        self.watched: WatchedProcess | None = None

    def start(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._run, name="heartbeat", daemon=True).start()

    def stop(self) -> None:
        """Stop the heartbeats."""
        self._over.set()

    def _run(self) -> None:
        count = 0
        while not self._over.is_set():
            try:
                self._store.transaction([], [Put(self._key, str(count), self._me)])
            except StoreLost:
                return  # the worker's own calls fail too
            count += 1
            self._over.wait(HEARTBEAT_EVERY_S)
            watched = self.watched
            if watched is not None and watched.look(time.monotonic()):
                self._changed()
