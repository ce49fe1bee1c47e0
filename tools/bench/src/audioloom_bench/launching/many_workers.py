"""A script for the launcher's own Python: how long gangs of many workers take to meet.

    python many_workers.py SIZE…

The coordinator, the store in memory and the workers are the launcher's own, all in one process;
but a worker's command has ended, well, as soon as it is started. Prints an object of JSON a size.
"""

import dataclasses
import json
import resource
import signal
import sys
import threading
import time
from typing import Any

from audioloom_yarn_launcher.coordinator.generation import (  # type: ignore[import-not-found]
    run_generation,
)
from audioloom_yarn_launcher.coordinator.supervisor import (  # type: ignore[import-not-found]
    gang_at_work,
)
from audioloom_yarn_launcher.local.kv_store import MemoryStore  # type: ignore[import-not-found]
from audioloom_yarn_launcher.rendezvous.limits import Limits  # type: ignore[import-not-found]
from audioloom_yarn_launcher.rendezvous.messages import Exit, Plan  # type: ignore[import-not-found]
from audioloom_yarn_launcher.rendezvous.roles import of_workers  # type: ignore[import-not-found]
from audioloom_yarn_launcher.worker.agent import (  # type: ignore[import-not-found]
    AgentContext,
    Worker,
)

LIMITS = Limits(registration_s=600.0)
STACK_BYTES = 256 << 10


class Idle(Worker):  # type: ignore[misc]
    """A worker that runs nothing: its command ends as soon as it begins."""

    _mine: Any

    def stay(self) -> None:
        """Be a worker until the run is over, and leave nothing in this process."""
        self.run()
        self.end()

    def _start(self, plan: object, membership: object) -> None:
        del plan, membership
        self._exit = Exit(id=self._mine.id, code=0, stopped=False)
        self._mine = dataclasses.replace(self._mine, started=True)


class Threads:
    """The launcher's `Workers`, each a thread of this process."""

    def __init__(self, store: MemoryStore, size: int) -> None:
        self._store, self._size = store, size
        self._threads: list[threading.Thread] = []
        self.started = 0.0

    def request_missing(self) -> None:
        """Start them all."""
        place = AgentContext("here", "127.0.0.1", {})
        for rank in range(self._size):
            worker = Idle(self._store, f"worker-{rank}", rank, place)
            thread = threading.Thread(target=worker.stay, daemon=True)
            thread.start()
            self._threads.append(thread)
        self.started = time.perf_counter()

    def exited(self) -> dict[str, str]:
        """None is ever lost."""
        return {}

    def pending(self) -> int:
        """None waits for a place."""
        return 0

    def close(self) -> None:
        """Wait until they have left."""
        for thread in self._threads:
            thread.join()


def main() -> None:
    """Measure each size."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))  # a worker holds a port
    threading.stack_size(STACK_BYTES)
    for size in map(int, sys.argv[1:]):
        print(json.dumps(measure(size)), flush=True)


def measure(size: int) -> dict[str, float]:
    """Let a gang of this size meet and end once."""
    store = MemoryStore()
    threads = Threads(store, size)
    formed: list[float] = []
    plan = Plan(of_workers(size), ("true",), "file:///nowhere", "bench")
    processor = time.process_time()
    begin = time.perf_counter()
    with gang_at_work(store, plan, LIMITS, lambda *_: threads) as gang:
        gang.driver.begin(0)
        went = run_generation(
            gang, attempt=1, generation=0, formed=lambda *_: formed.append(time.perf_counter())
        )
        ended = time.perf_counter()
    if went.cause is not None:
        sys.exit(went.cause.text)
    return {
        "size": size,
        "to_start": threads.started - begin,
        "to_meet": formed[0] - threads.started,
        "to_end": ended - formed[0],
        "processor": time.process_time() - processor,
    }


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    main()
