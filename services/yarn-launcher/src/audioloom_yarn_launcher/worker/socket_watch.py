"""The watch that warns in the log about sockets at which a worker's command is open to strangers.

The library that binds addresses works through glibc. A program that is statically linked, makes
system calls itself or drops its environment bypasses the library. This watch only warns.
"""

import threading
from collections.abc import Callable

from audioloom_stage.listeners import Listener, open_to_others

from audioloom_yarn_launcher.system.processes import marked, tree

LOOK_AFTER_S = (2.0, 3.0, 5.0, 20.0, 30.0, 240.0)
"""Pauses between the looks: servers are opened early, and to look for ever would be expensive."""


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
