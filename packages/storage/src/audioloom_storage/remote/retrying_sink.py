"""A new file that is begun again when its storage fails, while its first bytes are at hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from audioloom_storage.backend.protocol import Sink
from audioloom_storage.remote.retry import Busy, Outage, Patience

T = TypeVar("T")

_KEPT_BYTES = 16 << 20


class RetryingSink:
    """Keeps the beginning of a file, and writes it again where a cluster gave no answer.

    A DataNode that cannot be reached, or that has lost its NameNode, fails a write although the
    cluster goes on. A longer file is not kept: its error is told.

    Args:
        begin: a new file of the same name, which may replace one that it began before.
        patience: how long to try.
    """

    def __init__(self, begin: Callable[[], Sink], patience: Patience) -> None:
        self._begin = begin
        self._patience = patience
        self._kept: list[bytes] | None = []
        self._kept_bytes = 0
        self._sink = patience.run(begin)

    def write(self, data: memoryview) -> int:
        """Take some of the bytes, and say how many."""
        written = self._do(lambda sink: sink.write(data))
        if self._kept is not None:
            self._kept.append(bytes(data[:written]))
            self._kept_bytes += written
            if self._kept_bytes > _KEPT_BYTES:
                self._kept = None
        return written

    def finish(self) -> None:
        """Close; the storage has promised the bytes."""
        self._do(lambda sink: sink.finish())

    def abandon(self) -> None:
        """Close without a promise."""
        self._sink.abandon()

    def _do(self, action: Callable[[Sink], T]) -> T:
        try:
            return action(self._sink)
        except (Outage, Busy):
            if self._kept is None:
                raise
            return self._patience.run(lambda: self._again(action))

    def _again(self, action: Callable[[Sink], T]) -> T:
        self._sink.abandon()
        self._sink = self._begin()
        for piece in self._kept or []:
            self._sink.write(memoryview(piece))  # as long as one that was taken whole
        return action(self._sink)
