"""The writer's end of a new file: it appends only, and it never forgets a failure."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from audioloom_storage.backend.fault_points import Step, step
from audioloom_storage.backend.protocol import Sink
from audioloom_storage.location import Location

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class NewFile(io.RawIOBase):
    """A file that numbers its steps and keeps its first failure, even if swallowed.

    Closing it forces the bytes to disk and commits nothing, because wrappers (text, zip, Arrow)
    close the file that they write to.
    """

    def __init__(self, sink: Sink, location: Location) -> None:
        self._sink = sink
        self._location = location
        self._position = 0
        self._failure: BaseException | None = None

    def writable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the bytes written so far."""
        return self._position

    def write(self, data: ReadableBuffer, /) -> int:
        """Write some of the bytes; after a failure, write none ever again."""
        with self._step(Step.WRITE):
            written = self._sink.write(memoryview(data).cast("B"))
        self._position += written
        return written

    def close(self) -> None:
        """Force the bytes to disk and close."""
        if self.closed:
            return
        super().close()
        if self._failure is not None:
            self._sink.abandon()
            return
        try:
            with self._step(Step.SYNC):
                self._sink.finish()
        except BaseException:
            self._sink.abandon()
            raise

    def commit(self) -> None:
        """Let the closed file appear, if all its bytes are there.

        It raises the first failure of a write too, which somebody swallowed.
        """
        with self._step(Step.COMMIT):
            self._sink.commit()

    def abandon(self) -> None:
        """Close, and remove the bytes written as far as possible, whatever the storage says."""
        super().close()
        self._sink.abandon()

    @contextmanager
    def _step(self, what: Step) -> Iterator[None]:
        """Take a step, unless an earlier one failed, and keep its failure."""
        if self._failure is not None:
            raise self._failure
        try:
            step(what, self._location)
            yield
        except BaseException as error:
            self._failure = error
            raise
