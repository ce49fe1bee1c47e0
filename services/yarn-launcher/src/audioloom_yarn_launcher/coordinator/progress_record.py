"""The record of the progress of all processes, which the coordinator publishes while they run.

    progress/<attempt>.<k>.jsonl    k = 1, 2, …; a line for each process: its newest status

Only the coordinator writes it, and seldom: a file for each of a thousand workers would cost the
NameNode thousands of calls a second. Storage never replaces a file. So each record has a number of
its own, and the one before is removed when the next is there: readers always find a whole one.
"""

import threading
from contextlib import suppress

import structlog
from audioloom_storage import Location, StorageError, publish, remove

from audioloom_yarn_launcher.errors import StoreLost
from audioloom_yarn_launcher.rendezvous.backend import KeyValueStore
from audioloom_yarn_launcher.rendezvous.status import status_prefixes

FIRST_S, LEAST_S, MOST_S, PROCESSES_A_SECOND = 1.0, 3.0, 10.0, 100

log = structlog.get_logger()


class ProgressRecord:
    """Publishes the status of the *size* processes of a run in a folder."""

    def __init__(self, store: KeyValueStore, folder: Location, size: int) -> None:
        self._store, self._folder, self._size = store, folder, size
        self._every = min(max(LEAST_S, size / PROCESSES_A_SECOND), MOST_S)
        self._attempt, self._pause = 0, FIRST_S
        self._one_at_a_time, self._over = threading.RLock(), threading.Event()
        self._number, self._last, self._failed = 0, b"", False
        self._published: dict[int, Location] = {}

    def start(self) -> None:
        """Start the thread that publishes at intervals."""
        # No daemon: a process that ends while such a thread is in native code may abort.
        threading.Thread(target=self._work, name="progress").start()

    def close(self) -> None:
        """Stop the thread."""
        self._over.set()

    def begin(self, attempt: int) -> None:
        """Go on with the next attempt, whose first records follow each other more quickly."""
        self._attempt, self._pause = attempt, FIRST_S

    def next_pause(self) -> float:
        """Seconds before the next record."""
        pause, self._pause = self._pause, min(2 * self._pause, self._every)
        return pause

    def read(self) -> tuple[int, bytes]:
        """Read the status of all processes; return the attempt and its record."""
        found: dict[str, str] = {}
        for prefix in status_prefixes(self._size):
            found |= self._store.get_prefix(prefix)
        by_rank = sorted(found, key=lambda key: int(key.rpartition("/")[2]))
        return self._attempt, "".join(f"{found[key]}\n" for key in by_rank).encode()

    def publish(self, attempt: int, record: bytes) -> None:
        """Publish a record unless nothing is new; a failure costs nothing but the record."""
        with self._one_at_a_time:
            if record == self._last:
                return
            self._number += 1
            where = self._folder / f"progress/{attempt}.{self._number}.jsonl"
            try:
                publish(where, record)
            except (StorageError, OSError) as error:
                if not self._failed:
                    log.warning("the progress of the workers cannot be recorded", found=str(error))
                self._failed = True
                return
            before = self._published.get(attempt)
            self._published[attempt] = where
            self._last, self._failed = record, False
            if before is not None:
                with suppress(StorageError, OSError):
                    remove(before, within=self._folder)

    def look(self) -> None:
        """Publish the newest record; a record that was read earlier cannot follow it."""
        with self._one_at_a_time:
            self.publish(*self.read())

    def _work(self) -> None:
        while not self._over.wait(self.next_pause()):
            with suppress(StoreLost):  # the coordinator's own calls tell whether it is lost
                self.look()
