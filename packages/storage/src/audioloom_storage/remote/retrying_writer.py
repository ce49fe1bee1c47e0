"""A new file that is written again from its first bytes when its storage fails."""

from collections.abc import Callable
from typing import TypeVar

from audioloom_storage.backend.protocol import Writer
from audioloom_storage.remote.retry import Busy, Outage, Retry

T = TypeVar("T")

KEPT_BYTES = 16 << 20


class RetryingWriter:
    """A writer that keeps the first bytes of a file, and writes them again after a lost answer.

    A DataNode that cannot be reached, or that has lost its NameNode, fails a write although the
    cluster goes on. A longer file is not kept: the caller gets its error.

    Args:
        begin: starts a file of a fixed name, given the number of earlier starts. After the first it
            may replace that file, because the temporary name belongs to this writer alone.
        retry: how long to try.
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
            self._kept.append(bytes(data[:written]))
            self._kept_bytes += written
            if self._kept_bytes > KEPT_BYTES:
                self._kept = None
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
