"""Looks whether a worker's command listens where nobody was told, and says so in its log.

The library of `bind_address` is glibc's guest: a program that is linked statically, that asks the
kernel itself or drops its variables goes past it. This is a warning and no wall.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from audioloom_stage.listeners import Listener, open_to_others

from audioloom_yarn_launcher.system.processes import marked
from audioloom_yarn_launcher.worker.resource_usage import tree

LOOK_AFTER_S = (2.0, 3.0, 5.0, 20.0, 30.0, 240.0)
"""From one look to the next: servers are opened early, and looking for ever would cost."""


class Lookout:
    """Looks a few times, in a thread, until it is closed.

    Args:
        pid: of the command's process.
        marker: of all that it starts, in `processes.MARKER`; a daemon is no child any more.
        address: that it is to listen at.
        tell: gets a line for each listener that others can reach.
        waits: seconds from one look to the next.
    """

    def __init__(
        self,
        pid: int,
        marker: str,
        address: str,
        tell: Callable[[str], None],
        waits: tuple[float, ...] = LOOK_AFTER_S,
    ) -> None:
        self._pid, self._marker, self._address = pid, marker, address
        self._tell, self._waits = tell, waits
        self._told: set[Listener] = set()
        self._over = threading.Event()
        # No daemon: a process that ends while such a thread is in native code may abort.
        self._thread = threading.Thread(target=self._work, name="lookout")
        self._thread.start()

    def close(self) -> None:
        """Look no more, and tell nothing after this."""
        self._over.set()
        self._thread.join()

    def _work(self) -> None:
        for wait in self._waits:
            if self._over.wait(wait):
                return
            started = {*tree(self._pid), *marked(self._marker)}
            for each in open_to_others(started, [self._address]):
                if each not in self._told:
                    self._told.add(each)
                    self._tell(warning(each, self._address))


def warning(listener: Listener, address: str) -> str:
    """What is said of a program that others can reach."""
    return (
        f"process {listener.pid} listens at {listener}, and not at {address} alone: it goes past"
        " the library that sees to that; whoever reaches the port may use it"
    )
