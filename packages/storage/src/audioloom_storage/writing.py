"""Change storage: publish whole files without ever replacing one, make folders, remove."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO, cast

from audioloom_storage._backends import Backend, Sink, backend_of
from audioloom_storage._steps import Step, step
from audioloom_storage._temporary import temporary_beside
from audioloom_storage.errors import (
    AlreadyExists,
    IsAFolder,
    NotFound,
    StorageError,
    UnknownOutcome,
    UnsafePath,
)
from audioloom_storage.location import Location

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_BUFFER_BYTES = 1 << 20


@contextmanager
def create(location: Location) -> Iterator[BinaryIO]:
    """Write a new file that appears whole or not at all.

    The bytes go to a temporary name in the same folder; when the block ends they are forced to disk, and the file is
    moved to `location` by a step that cannot replace anything. When the block raises, nothing appears. Missing parent
    folders are made. The file is written in order: it cannot seek, on any storage.

    Raises:
        AlreadyExists: something lies there, before the first byte or at the end; it was left as it is.
        IsAFolder: a folder lies there.
        UnknownOutcome: it may have appeared, now or later: look before acting.
        NoSpace, PermissionDenied, NotAFolder, Unavailable: it did not appear.
    """
    backend = backend_of(location)
    _refuse_taken(backend, location)
    temporary = temporary_beside(location)
    sink = _open_new(backend, temporary)
    raw = _NewFile(sink, temporary)
    file = io.BufferedWriter(raw, _BUFFER_BYTES)
    try:
        yield cast(BinaryIO, file)
        file.close()
        if raw.failure is not None:  # whoever wrote has swallowed it: the bytes are not all there
            raise raw.failure
        step(Step.MOVE, location)
        backend.move(temporary, location)
    except UnknownOutcome:
        raise  # whatever is still there may yet be the file
    except BaseException:
        raw.abandon()
        with suppress(StorageError):  # gone already, or the storage is: the first error is the one to tell
            remove(temporary)
        raise
    step(Step.MOVED, location)


def publish(location: Location, data: bytes) -> None:
    """Make a small file appear whole, or not at all: the commit step. Raises as `create`."""
    with create(location) as file:
        file.write(data)


def make_folder(location: Location) -> None:
    """Make a folder and its parents; it may exist.

    Raises:
        NotAFolder: something that is no folder lies there or on the way.
        PermissionDenied, NoSpace, Unavailable.
    """
    step(Step.MAKE_FOLDER, location)
    backend_of(location).make_folder(location)


def remove(location: Location) -> None:
    """Remove one file, or one link (not what it leads to).

    Raises:
        NotFound, IsAFolder, PermissionDenied, Unavailable.
    """
    step(Step.REMOVE, location)
    backend_of(location).remove(location)


def remove_tree(location: Location) -> None:
    """Remove a folder with everything in it, following no link. For what the caller itself made.

    Raises:
        UnsafePath: the root of the storage.
        NotFound, NotAFolder, PermissionDenied, Unavailable: what was removed by then is gone.
    """
    if location.path == "/":
        raise UnsafePath("the root of a storage is never removed", where=location)
    backend_of(location).remove_tree(location)


def _refuse_taken(backend: Backend, location: Location) -> None:
    step(Step.READ, location)
    try:
        entry = backend.stat(location)
    except NotFound:
        return
    if entry.is_folder:
        raise IsAFolder("a folder lies there", where=location, expected="no file or folder of that name")
    raise AlreadyExists("a file lies there already, and files are never replaced", where=location)


def _open_new(backend: Backend, temporary: Location) -> Sink:
    step(Step.CREATE, temporary)
    try:
        return backend.open_new(temporary)
    except NotFound:
        make_folder(temporary.parent)
        return backend.open_new(temporary)


class _NewFile(io.RawIOBase):
    """The writer's end of a new file. Remembers the first failure, for a caller may swallow it."""

    def __init__(self, sink: Sink, temporary: Location) -> None:
        self._sink = sink
        self._temporary = temporary
        self._position = 0
        self.failure: BaseException | None = None

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def write(self, data: ReadableBuffer, /) -> int:
        if self.failure is not None:
            raise self.failure
        try:
            step(Step.WRITE, self._temporary)
            written = self._sink.write(memoryview(data).cast("B"))
        except BaseException as error:
            self.failure = error
            raise
        self._position += written
        return written

    def close(self) -> None:
        """Finish: also when the writer closes the file itself, as wrappers of files do."""
        if self.closed:
            return
        super().close()
        if self.failure is not None:
            self._sink.abandon()
            return
        try:
            step(Step.SYNC, self._temporary)
            self._sink.finish()
        except BaseException as error:
            self.failure = error
            self._sink.abandon()
            raise

    def abandon(self) -> None:
        if not self.closed:
            super().close()
            self._sink.abandon()
