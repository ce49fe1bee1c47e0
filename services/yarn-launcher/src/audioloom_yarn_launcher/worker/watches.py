"""The watches of a worker's process: its heartbeats, and the sockets at which it listens.

A process that SIGSTOP stopped does not end, so a wait for its end never returns, and its peers may
wait for it without limit. A process in a debugger is in another state.

The library that binds addresses works through glibc. A program that is statically linked, makes
system calls itself or drops its environment bypasses the library. The watch of sockets only warns.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from audioloom_stage.listeners import Listener, open_to_others

from audioloom_yarn_launcher.errors import StoreLost
from audioloom_yarn_launcher.rendezvous.backend import KeyValueStore, Put
from audioloom_yarn_launcher.rendezvous.messages import HEARTBEAT, SIDECAR_HEARTBEAT
from audioloom_yarn_launcher.system import processes
from audioloom_yarn_launcher.system.processes import marked, tree

HEARTBEAT_EVERY_S = 1.0
LOOK_AFTER_S = (2.0, 3.0, 5.0, 20.0, 30.0, 240.0)
"""Pauses between the looks: servers are opened early, and to look for ever would be expensive."""


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

    The thread calls *changed* when it finds the process frozen, and when the store fails.
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
                self._changed()  # the worker's own call decides whether the store is lost
            count += 1
            self._over.wait(HEARTBEAT_EVERY_S)
            watched = self.watched
            if watched is not None and watched.look(time.monotonic()):
                self._changed()


class SocketWatch:
    """A thread that looks at the listening sockets a few times until it is closed.

    The marker in the processes' environment finds daemons, which are no children of *pid*.
    """

    def __init__(
        self,
        pid: int,
        marker: str,
        address: str,
        report: Callable[[str], None],
        waits: tuple[float, ...] = LOOK_AFTER_S,
    ) -> None:
        self._pid, self._marker, self._address = pid, marker, address
        self._report, self._waits = report, waits
        self._reported: set[Listener] = set()
        self._over = threading.Event()
        # No daemon: a process that ends while such a thread is in native code may abort.
        self._thread = threading.Thread(target=self._work, name="sockets")
        self._thread.start()

    def close(self) -> None:
        """Stop the thread; nothing is reported after this."""
        self._over.set()
        self.join()

    def join(self) -> None:
        """Wait until the thread has ended."""
        self._thread.join()

    def _work(self) -> None:
        for wait in self._waits:
            if self._over.wait(wait):
                return
            started = {*tree(self._pid), *marked(self._marker)}
            for each in open_to_others(started, [self._address]):
                if each not in self._reported:
                    self._reported.add(each)
                    self._report(warning(each, self._address))


def warning(listener: Listener, address: str) -> str:
    """Write the warning about a socket that strangers can reach."""
    return (
        f"process {listener.pid} listens at {listener}, and not at {address} alone: it bypasses"
        " the library that binds the address; whoever reaches the port may use it"
    )
