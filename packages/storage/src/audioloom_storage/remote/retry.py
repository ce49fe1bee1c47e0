"""Connections to clusters, and what is repeated for one that worked a moment ago."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from audioloom_storage.backend.protocol import Writer
from audioloom_storage.errors import StorageError, Unavailable
from audioloom_storage.location import Location

T = TypeVar("T")
Client = TypeVar("Client")

RETRY_SECONDS = 30.0  # a NameNode restarts or fails over in less time
_FIRST_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 2.0
KEPT_BYTES = 16 << 20  # of a file that is written again


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
        pauses, unanswered = self.pauses(), False
        while True:
            try:
                result = attempt()
            except StorageError as error:
                error.unanswered = unanswered = unanswered or isinstance(error, Outage)
                if not isinstance(error, (Outage, Busy)):
                    self.answered()
                    raise
                if (pause := next(pauses, None)) is None:
                    raise
            else:
                self.answered()
                return result
            time.sleep(pause)

    def pauses(self) -> Iterator[float]:
        """Yield the seconds to wait after each failure, until the time is up."""
        pause = _FIRST_PAUSE_SECONDS
        lost_at = self._lost()
        while self.proved and time.monotonic() - lost_at < RETRY_SECONDS:
            yield pause
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
            # A success in between, here or in another thread, is no reason to wait longer.
            lost_at = min(lost_at, self._lost())

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

        Where it is *looking* for something, a parent that is no folder means "not found".
        """
        return self.retry.run(lambda: self.attempt(location, ask, looking=looking))


class RetryingWriter:
    """A writer that keeps the first bytes of a file, and writes them again after a lost answer.

    A DataNode that cannot be reached, or that has lost its NameNode, fails a write although the
    cluster goes on. A longer file is not kept: the caller gets its error.

    *begin* starts a file of a fixed name, given the number of earlier starts. After the first it
    may replace that file, because the temporary name belongs to this writer alone.
    """

    def __init__(self, begin: Callable[[int], Writer], retry: Retry) -> None:
        self._begin = begin
        self._retry = retry
        self._kept: list[bytes] | None = []
        self._kept_bytes = 0
        self._starts = 0
        self._writer = retry.run(self._start)

    def write(self, data: memoryview) -> int:
        """Take some of the bytes, and return how many."""
        written = self._do(lambda writer: writer.write(data))
        if self._kept is not None:
            self._kept_bytes += written
            if self._kept_bytes > KEPT_BYTES:
                self._kept = None
            else:
                self._kept.append(bytes(data[:written]))
        return written

    def finish(self) -> None:
        """Close; the storage has then promised the bytes."""
        self._do(lambda writer: writer.finish())

    def abandon(self) -> None:
        """Close without a promise."""
        self._writer.abandon()

    def _start(self) -> Writer:
        self._starts += 1
        return self._begin(self._starts - 1)

    def _do(self, action: Callable[[Writer], T]) -> T:
        try:
            return action(self._writer)
        except (Outage, Busy):
            if self._kept is None:
                raise
            return self._retry.run(lambda: self._again(action))

    def _again(self, action: Callable[[Writer], T]) -> T:
        self._writer.abandon()
        self._writer = self._start()
        for piece in self._kept or []:
            self._writer.write(memoryview(piece))  # as long as a piece that was taken whole
        return action(self._writer)
