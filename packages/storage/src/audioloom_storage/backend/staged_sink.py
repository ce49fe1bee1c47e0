"""A new file under a temporary name that is renamed: for storages with an atomic rename.

POSIX and HDFS have one. A storage with a conditional PUT needs no temporary name.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Protocol

from audioloom_storage.backend.fault_points import Step, step
from audioloom_storage.backend.protocol import Backend, Writer
from audioloom_storage.backend.temporary import temporary_beside
from audioloom_storage.errors import AlreadyExists, NotFound, StorageError, Unavailable, gone
from audioloom_storage.location import Location


class StagedBackend(Backend, Protocol):
    """A storage that renames."""

    def start(self, temporary: Location, *, private: bool, replication: int | None) -> Writer:
        """Open the unfinished file. Raise AlreadyExists, or NotFound if its folder is missing."""

    def commit(self, temporary: Location, target: Location, size: int) -> None:
        """Give a finished file of that many bytes its name, as `Sink.commit` says."""

    def create(self, location: Location, *, private: bool, replication: int | None) -> "StagedSink":
        """Start a file under a temporary name."""
        return StagedSink(self, location, private=private, replication=replication)


class StagedSink:
    """A `Sink` under a temporary name in the folder of its target."""

    def __init__(
        self,
        backend: StagedBackend,
        target: Location,
        *,
        private: bool,
        replication: int | None,
    ) -> None:
        self._backend = backend
        self._target = target
        self._temporary = temporary_beside(target)
        self._size = 0
        self._is_staged = False
        with self._naming_target():
            self._writer = backend.start(self._temporary, private=private, replication=replication)
        self._is_staged = True

    def write(self, data: memoryview) -> int:
        """Take some of the bytes, and return how many."""
        with self._naming_target():
            written = self._writer.write(data)
        self._size += written
        return written

    def finish(self) -> None:
        """Force the bytes to disk."""
        with self._naming_target():
            self._writer.finish()

    def commit(self) -> None:
        """Rename, without replacing."""
        with self._naming_target():
            self._backend.commit(self._temporary, self._target, self._size)
        self._is_staged = False

    def abandon(self) -> None:
        """Close and remove the unfinished file."""
        self._writer.abandon()
        if self._is_staged:
            self._is_staged = False
            step(Step.REMOVE, self._temporary)
            with suppress(StorageError):
                self._backend.remove(self._temporary, within=None)

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
