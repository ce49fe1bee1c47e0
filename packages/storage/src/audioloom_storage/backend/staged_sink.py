"""A new file under a temporary name that is renamed: for storages with an atomic rename.

POSIX and HDFS have one. A storage with a conditional PUT needs no temporary name.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from audioloom_storage.backend.fault_points import Step, step
from audioloom_storage.backend.outcomes import gone
from audioloom_storage.backend.protocol import Writer
from audioloom_storage.backend.temporary import temporary_beside
from audioloom_storage.errors import AlreadyExists, NotFound, StorageError, Unavailable
from audioloom_storage.location import Location


class StagedSink:
    """A `Sink` under a temporary name in the folder of its target.

    Args:
        target: the final name of the file.
        start: opens the unfinished file. Raises AlreadyExists rather than replace, NotFound where
            the folder is missing.
        commit: gives a finished file of the given size its name, as `Sink.commit` says.
        remove: removes the unfinished file.

    Raises:
        StorageError: the file cannot be started.
    """

    def __init__(
        self,
        target: Location,
        *,
        start: Callable[[Location], Writer],
        commit: Callable[[Location, Location, int], None],
        remove: Callable[[Location], None],
    ) -> None:
        self._target = target
        self._temporary = temporary_beside(target)
        self._commit, self._remove = commit, remove
        self._size = 0
        self._is_staged = False
        with self._naming_target():
            self._writer = start(self._temporary)
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
            self._commit(self._temporary, self._target, self._size)
        self._is_staged = False

    def abandon(self) -> None:
        """Close and remove the unfinished file."""
        self._writer.abandon()
        if self._is_staged:
            self._is_staged = False
            step(Step.REMOVE, self._temporary)
            with suppress(StorageError):
                self._remove(self._temporary)

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
