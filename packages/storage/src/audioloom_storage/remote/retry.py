"""Connections to clusters, and the wait for one that worked a moment ago."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, TypeVar

from audioloom_storage.errors import StorageError, Unavailable
from audioloom_storage.location import Location

T = TypeVar("T")
Client = TypeVar("Client")

RETRY_SECONDS = 30.0  # a NameNode restarts or fails over in less time
_FIRST_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 2.0


class Outage(Unavailable):
    """No answer came: the request may have been executed, or may yet be."""


class Busy(Unavailable):
    """The storage refused for the moment. Nothing was done."""


class Retry:
    """Repeat requests that got no answer, but only on a cluster that has answered before.

    A cluster that never answered is misspelt or down for long: the caller gets the first failure.
    The time runs from the first failure, over all calls together until one succeeds again. So a job
    ends soon after its cluster, however many more calls it makes on the way out.
    """

    def __init__(self) -> None:
        self.proved = False
        self._lost_at: float | None = None

    def run(self, attempt: Callable[[], T]) -> T:
        """Return the result of `attempt`, which may run twice, repeated until the time is up."""
        pause = _FIRST_PAUSE_SECONDS
        lost_at: float | None = None
        while True:
            try:
                result = attempt()
            except (Outage, Busy):
                # A success in between, here or in another thread, is no reason to wait longer.
                lost_at = min(lost_at or self._lost(), self._lost())
                if not self.proved or time.monotonic() - lost_at >= RETRY_SECONDS:
                    raise
            except StorageError:
                self.answered()
                raise
            else:
                self.answered()
                return result
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    def answered(self) -> None:
        """Note that the cluster works."""
        self.proved, self._lost_at = True, None

    def _lost(self) -> float:
        if self._lost_at is None:
            self._lost_at = time.monotonic()
        return self._lost_at


class Connection(ABC, Generic[Client]):
    """A connection to a cluster, which lasts as long as the process."""

    def __init__(self) -> None:
        self.retry = Retry()
        self.user = ""  # not known yet

    @abstractmethod
    def attempt(
        self, location: Location, ask: Callable[[Client], T], *, looking: bool = False
    ) -> T:
        """Ask once and return the answer."""

    def call(self, location: Location, ask: Callable[[Client], T], *, looking: bool = False) -> T:
        """Ask a question that may be asked twice, and repeat it as `Retry` says.

        Args:
            location: the location that the question is about.
            ask: puts the question to a client.
            looking: it looks for something, so a parent that is no folder means "not found".
        """
        return self.retry.run(lambda: self.attempt(location, ask, looking=looking))
