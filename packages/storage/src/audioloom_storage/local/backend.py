"""The file:// backend on the operating system's own calls."""

# No pathlib: it hides names of any bytes, folder descriptors and flags.
# ruff: noqa: PTH102, PTH112, PTH116, PTH208

from __future__ import annotations

import errno
import io
import os
import stat as kinds
from collections.abc import Hashable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO

from audioloom_storage.backend.protocol import Backend, Entry
from audioloom_storage.backend.staged_sink import StagedBackend
from audioloom_storage.errors import IsAFolder, NotAFile, NotAFolder
from audioloom_storage.local.commit import commit, keep_names
from audioloom_storage.local.errors import translated, translating
from audioloom_storage.location import Location

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_READ_BUFFER_BYTES = 256 << 10
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NOT_EMPTY = (errno.ENOTEMPTY, errno.EEXIST)  # POSIX allows either number
_LEADS_NOWHERE = (errno.ENOENT, errno.ELOOP, errno.EACCES, errno.ENOTDIR, errno.ENAMETOOLONG)


class _Local(StagedBackend):
    def stat(self, location: Location) -> Entry:
        with translating(location, looking=True):
            found = os.lstat(location.path)
            is_link = kinds.S_ISLNK(found.st_mode)
            return _entry(location, os.stat(location.path) if is_link else found, is_link=is_link)

    def list_folder(self, location: Location) -> Iterator[Entry]:
        with translating(location):
            names = os.listdir(location.path)
        names.sort()
        return _entries(location, names)

    def folder_identity(self, location: Location) -> Hashable:
        with translating(location, looking=True):
            found = os.stat(location.path)
        return found.st_dev, found.st_ino

    def open_read(self, location: Location) -> BinaryIO:
        """Open a regular file, and nothing that could make a reader wait forever."""
        with translating(location, looking=True):
            # Without O_NONBLOCK, opening a pipe waits until somebody writes to it.
            descriptor = os.open(location.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        kind = os.fstat(descriptor).st_mode
        if kinds.S_ISREG(kind):
            return io.BufferedReader(_ReadFile(descriptor, location), _READ_BUFFER_BYTES)
        os.close(descriptor)
        if kinds.S_ISDIR(kind):
            raise IsAFolder("a folder lies there", where=location, expected="a file")
        raise NotAFile("a pipe or a device lies there", where=location, expected="a file")

    def start(self, temporary: Location, *, private: bool, replication: int | None) -> _Writer:
        """Open a new file. The umask decides who may read it, unless it is private."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        with translating(temporary):
            descriptor = os.open(temporary.path, flags, 0o600 if private else 0o666)
        return _Writer(descriptor, temporary)

    def commit(self, temporary: Location, target: Location, size: int) -> None:
        """Move the file by the first way that its file system knows."""
        commit(temporary, target)

    def lstat(self, location: Location) -> Entry:
        with translating(location, looking=True):
            found = os.lstat(location.path)
        return _entry(location, found, is_link=kinds.S_ISLNK(found.st_mode))

    def user(self, location: Location) -> str:
        return str(os.geteuid())

    def set_permissions(self, location: Location, mode: int) -> None:
        with translating(location, looking=True):
            os.chmod(location.path, mode)  # noqa: PTH101

    def make_folder(self, location: Location, *, private: bool) -> None:
        """Make the folders level by level, each on disk before the next."""
        asked = location
        missing: list[Location] = []
        with translating(location):
            while not os.path.isdir(location.path):
                missing.append(location)
                location = location.parent
            for folder in reversed(missing):
                try:
                    os.mkdir(folder.path, 0o700 if private and folder == asked else 0o777)
                except FileExistsError:  # another process was faster, or it is no folder
                    if not os.path.isdir(folder.path):
                        raise NotAFolder("no folder lies there", where=folder) from None
                keep_names(folder.parent)

    def remove(self, location: Location, *, within: Location | None = None) -> None:
        with translating(location, looking=True), _reached(location, within) as (name, folder):
            os.unlink(name, dir_fd=folder)

    def remove_empty_folder(self, location: Location, *, within: Location | None = None) -> bool:
        with translating(location), _reached(location, within) as (name, above):
            try:
                os.rmdir(name, dir_fd=above)
            except OSError as error:
                if error.errno in _NOT_EMPTY:
                    return False
                raise
        return True


def _entries(location: Location, names: list[str]) -> Iterator[Entry]:
    for name in names:
        child = location.child(name)
        is_link = False
        try:
            found = os.lstat(child.path)
            is_link = kinds.S_ISLNK(found.st_mode)
            if is_link:
                found = os.stat(child.path)
        except OSError as error:
            if not is_link and isinstance(error, FileNotFoundError):
                continue  # removed since the names were read
            if not is_link or error.errno not in _LEADS_NOWHERE:
                raise translated(error, child) from error
        yield _entry(child, found, is_link=is_link)


@contextmanager
def _reached(location: Location, within: Location | None) -> Iterator[tuple[str, int | None]]:
    """Yield a name and the open folder that holds it; below *within* no link is followed."""
    if within is None:
        yield location.path, None
        return
    *folders, name = location.relative_to(within).split("/")
    with ExitStack() as opened:
        at = os.open(within.path, _FOLDER)
        opened.callback(os.close, at)
        for folder in folders:
            try:
                at = os.open(folder, _FOLDER | os.O_NOFOLLOW, dir_fd=at)
            except NotADirectoryError:  # Linux reports a link this way, too
                raise NotAFolder("a link lies on the way", where=location) from None
            opened.callback(os.close, at)
        yield name, at


def _entry(location: Location, found: os.stat_result, *, is_link: bool) -> Entry:
    is_folder = kinds.S_ISDIR(found.st_mode)
    size = 0 if is_folder else found.st_size
    mode, owner = kinds.S_IMODE(found.st_mode), str(found.st_uid)  # not every user has a name
    return Entry(location, size, found.st_mtime_ns, is_folder, is_link, mode, owner)


class _ReadFile(io.FileIO):
    """A file whose failures name its location."""

    def __init__(self, descriptor: int, location: Location) -> None:
        super().__init__(descriptor, "rb")
        self._location = location

    def readinto(self, buffer: WriteableBuffer, /) -> int | None:
        with translating(self._location):
            return super().readinto(buffer)

    def readall(self) -> bytes:
        with translating(self._location):
            return super().readall()


class _Writer:
    def __init__(self, descriptor: int, location: Location) -> None:
        self._descriptor = descriptor
        self._location = location

    def write(self, data: memoryview) -> int:
        with translating(self._location):
            return os.write(self._descriptor, data)

    def finish(self) -> None:
        with translating(self._location):
            os.fsync(self._descriptor)
            descriptor, self._descriptor = self._descriptor, -1
            os.close(descriptor)  # a network file system may find its disk full only here

    def abandon(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            with suppress(OSError):
                os.close(descriptor)


BACKEND: Backend = _Local()
