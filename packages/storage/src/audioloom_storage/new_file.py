"""A new file under a temporary name, which is renamed when all its bytes are there."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from audioloom_storage.backend.fault_points import Step, step
from audioloom_storage.backend.protocol import Backend
from audioloom_storage.backend.temporary import temporary_beside
from audioloom_storage.errors import AlreadyExists, NotFound, StorageError, Unavailable, gone
from audioloom_storage.location import Location

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class NewFile(io.RawIOBase):
    """A file that appends only, numbers its steps and keeps its first failure, even if swallowed.

    Closing it forces the bytes to disk and commits nothing, because wrappers (text, zip, Arrow)
    close the file that they write to.

    Raises:
        NotFound: the folder is missing.
        StorageError: the file cannot be started.
    """

    def __init__(self, backend: Backend, target: Location, *, private: bool) -> None:
        self._is_staged = False
        self._backend = backend
        self._target = target
        self._temporary = temporary_beside(target)
        self._size = 0
        self._failure: BaseException | None = None
        with self._naming_target():
            self._writer = backend.start(self._temporary, private=private)
        self._is_staged = True

    def writable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the bytes written so far."""
        return self._size

    def write(self, data: ReadableBuffer, /) -> int:
        """Write some of the bytes; after a failure, write none ever again."""
        with self._step(Step.WRITE):
            written = self._writer.write(memoryview(data).cast("B"))
        self._size += written
        return written

    def close(self) -> None:
        """Force the bytes to disk and close."""
        if self.closed or not self._is_staged:
            return
        super().close()
        if self._failure is not None:
            self.abandon()
            return
        try:
            with self._step(Step.SYNC):
                self._writer.finish()
        except BaseException:
            self.abandon()
            raise

    def commit(self) -> None:
        """Let the closed file appear, if all its bytes are there.

        Raises:
            BaseException: the first failure of a write, which somebody swallowed.
            StorageError: the file did not appear.
        """
        with self._step(Step.COMMIT):
            self._backend.commit(self._temporary, self._target, self._size)
        self._is_staged = False

    def abandon(self) -> None:
        """Close, and remove the bytes written as far as possible, whatever the storage says."""
        super().close()
        self._writer.abandon()
        if self._is_staged:
            self._is_staged = False
            step(Step.REMOVE, self._temporary)
            with suppress(StorageError):
                self._backend.remove(self._temporary, within=None)

    @contextmanager
    def _step(self, what: Step) -> Iterator[None]:
        """Take a step, unless an earlier one failed, and keep its failure."""
        if self._failure is not None:
            raise self._failure
        try:
            step(what, self._target)
            with self._naming_target():
                yield
        except BaseException as error:
            self._failure = error
            raise

    @contextmanager
    def _naming_target(self) -> Iterator[None]:
        """Let errors name the file that was asked for: nobody knows the temporary one."""
        try:
            yield
        except StorageError as error:
            if error.where != str(self._temporary):
                raise
            if self._is_staged and isinstance(error, NotFound):
                raise gone(self._target) from error
            if isinstance(error, AlreadyExists):
                raise Unavailable(
                    "the name of the unfinished file is taken: an answer was lost",
                    where=self._target,
                    hint="Run again.",
                ) from error
            error.where = str(self._target)
            raise
