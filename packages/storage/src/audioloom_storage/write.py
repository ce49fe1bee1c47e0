"""Change storage: publish whole files without replacing any, make folders, remove."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

from audioloom_storage.backend.fault_points import Step, step
from audioloom_storage.backend.protocol import Sink
from audioloom_storage.errors import NotFound, UnknownOutcome, UnsafePath, gone, taken
from audioloom_storage.location import Location
from audioloom_storage.read import list_folder, stat
from audioloom_storage.registry import backend_of

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_BUFFER_BYTES = 1 << 20

READ_BY_ALL = 10
"""The copies of a file that all nodes read at once: as many as MapReduce keeps of a job's files."""


@contextmanager
def create(
    location: Location, *, private: bool = False, replication: int | None = None
) -> Iterator[BinaryIO]:
    """Write a new file that appears whole, or not at all.

    When the block ends, the bytes are forced to disk, and the file appears at `location` by a step
    that replaces nothing; until then it has a temporary name in the same folder. When the block
    raises, or a write failed whose error was swallowed, nothing appears. Missing parent folders are
    made. The file is written in order: no storage lets it seek.

    Only its owner may read a *private* file, from the first byte on. Otherwise the umask decides,
    as always for parent folders. HDFS keeps *replication* copies of it, by default as many as of
    other files; other storages pass the number over.

    Raises:
        AlreadyExists: something lies there, before the first byte or after the last. It was left
            as it is.
        IsAFolder: a folder lies there.
        UnknownOutcome: the file may have appeared, or may yet: look before acting.
        NoSpace, PermissionDenied, NotAFolder, Unavailable: the file did not appear.
    """
    with suppress(NotFound):
        raise taken(location, is_folder=stat(location).is_folder)
    raw = _start(location, private=private, replication=replication)
    file = io.BufferedWriter(raw, _BUFFER_BYTES)
    try:
        yield file
        file.close()
        raw.commit()
    except UnknownOutcome:
        raise  # the file that still lies there may be the only copy
    except BaseException:
        raw.abandon()
        raise
    step(Step.COMMITTED, location)


def publish(location: Location, data: bytes, *, private: bool = False) -> None:
    """Write a small file that appears whole, or not at all: the commit step. Raises as `create`."""
    with create(location, private=private) as file:
        file.write(data)


def make_folder(location: Location, *, private: bool = False) -> None:
    """Make a folder and its parents; it may exist, and then it stays as it is.

    Only its owner may list, enter or change a *private* folder. Its parents follow the umask.

    Raises:
        NotAFolder: something that is no folder lies there, or on the way.
        PermissionDenied, NoSpace, Unavailable: the folder could not be made.
    """
    step(Step.MAKE_FOLDER, location)
    backend_of(location).make_folder(location, private=private)


def remove(location: Location, *, within: Location | None = None) -> None:
    """Remove one file, or one link (never what it leads to).

    Below the folder *within* no link is followed on the way to the file, not even one that somebody
    puts there at this moment.

    Raises:
        NotAFolder: a folder between *within* and the file is a link.
        NotFound, IsAFolder, PermissionDenied, Unavailable: the file was not removed.
    """
    step(Step.REMOVE, location)
    backend_of(location).remove(location, within=within)


def remove_tree(location: Location) -> None:
    """Remove a folder with its content, following no link: only for folders of the caller's own.

    Raises:
        UnsafePath: it is the root of the storage.
        NotFound, NotAFolder: there is no such folder (a link to one is none).
        PermissionDenied, Unavailable: a part of the content may be gone.
    """
    if location.path == "/":
        raise UnsafePath("the root of a storage is never removed", where=location)
    _remove_tree(location, location.parent)


def remove_empty_folder(location: Location, *, within: Location | None = None) -> bool:
    """Remove an empty folder; return whether it was there, was empty and is gone now.

    A file that somebody puts there at this moment keeps the folder. No link below *within* is
    followed on the way, as with `remove`.

    Raises:
        UnsafePath: it is the root of the storage.
        NotAFolder: a file or a link lies there, or a link on the way.
        PermissionDenied, Unavailable: the folder was not removed.
    """
    if location.path == "/":
        raise UnsafePath("the root of a storage is never removed", where=location)
    step(Step.REMOVE, location)
    try:
        return backend_of(location).remove_empty_folder(location, within=within)
    except NotFound:
        return False


def _remove_tree(folder: Location, within: Location) -> None:
    for entry in list_folder(folder):
        if entry.is_folder and not entry.is_link:
            _remove_tree(entry.location, within)
        else:
            remove(entry.location, within=within)
    remove_empty_folder(folder, within=within)


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


def _start(location: Location, *, private: bool, replication: int | None) -> NewFile:
    begin = partial(backend_of(location).create, location, private=private, replication=replication)
    step(Step.CREATE, location)
    try:
        return NewFile(begin(), location)
    except NotFound:
        make_folder(location.parent)
    try:
        return NewFile(begin(), location)
    except NotFound as error:  # its folder was removed again
        raise gone(location) from error
