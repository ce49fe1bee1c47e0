"""file:// by the operating system's own calls."""

from __future__ import annotations

import errno
import io
import os
import stat as mode
from collections.abc import Hashable, Iterator
from contextlib import suppress
from typing import BinaryIO, cast

from audioloom_storage._backends import Entry
from audioloom_storage._local_errors import told
from audioloom_storage._local_move import move as _move
from audioloom_storage._steps import Step, step
from audioloom_storage.errors import IsAFolder, NotAFile, NotAFolder, NotFound
from audioloom_storage.location import Location

_READ_BUFFER_BYTES = 256 << 10


def stat(location: Location) -> Entry:
    with told(location):
        try:
            return _entry(location, os.stat(location.path))
        except NotADirectoryError:
            raise NotFound("nothing lies there: a file stands where a folder should", where=location) from None


def list_folder(location: Location) -> Iterator[Entry]:
    with told(location):
        names = sorted(os.listdir(location.path))
    for name in names:
        child = location.child(name)
        try:
            found = os.stat(child.path)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ELOOP):
                with told(child):
                    raise
            try:
                found = os.lstat(child.path)  # a link that leads nowhere
            except FileNotFoundError:
                continue  # removed since the names were read
        yield _entry(child, found)


def folder_identity(location: Location) -> Hashable:
    with told(location):
        found = os.stat(location.path)
    return found.st_dev, found.st_ino


def open_read(location: Location) -> BinaryIO:
    with told(location):
        # O_NONBLOCK: opening a pipe that nobody writes to would wait for ever.
        descriptor = os.open(location.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    kind = os.fstat(descriptor).st_mode
    if not mode.S_ISREG(kind):
        os.close(descriptor)
        if mode.S_ISDIR(kind):
            raise IsAFolder("a folder lies there", where=location, expected="a file")
        raise NotAFile("a pipe, a socket or a device lies there", where=location, expected="a file")
    return cast(BinaryIO, io.BufferedReader(_ReadFile(descriptor, location), _READ_BUFFER_BYTES))


def open_new(location: Location) -> _LocalSink:
    with told(location):
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        return _LocalSink(os.open(location.path, flags, 0o666), location)


def move(temporary: Location, target: Location) -> None:
    _move(temporary, target)


def make_folder(location: Location) -> None:
    with told(location):
        try:
            os.makedirs(location.path, exist_ok=True)
        except FileExistsError:
            raise NotAFolder("something that is no folder lies there", where=location) from None


def remove(location: Location) -> None:
    with told(location):
        os.unlink(location.path)


def remove_tree(location: Location) -> None:
    with told(location):
        for _, folders, files, descriptor in os.fwalk(location.path, topdown=False, onerror=_raise):
            for name in files:
                step(Step.REMOVE, location)
                os.unlink(name, dir_fd=descriptor)
            for name in folders:
                step(Step.REMOVE, location)
                try:
                    os.rmdir(name, dir_fd=descriptor)
                except NotADirectoryError:  # a link to a folder
                    os.unlink(name, dir_fd=descriptor)
        step(Step.REMOVE, location)
        os.rmdir(location.path)


def _raise(error: OSError) -> None:
    raise error


def _entry(location: Location, found: os.stat_result) -> Entry:
    is_folder = mode.S_ISDIR(found.st_mode)
    return Entry(location, 0 if is_folder else found.st_size, found.st_mtime_ns, is_folder)


class _ReadFile(io.FileIO):
    """A file whose failures name the location."""

    def __init__(self, descriptor: int, location: Location) -> None:
        super().__init__(descriptor, "rb")
        self._location = location

    def readinto(self, buffer):  # type: ignore[no-untyped-def, override]
        with told(self._location):
            return super().readinto(buffer)

    def readall(self) -> bytes:
        with told(self._location):
            return super().readall()


class _LocalSink:
    def __init__(self, descriptor: int, location: Location) -> None:
        self._descriptor = descriptor
        self._location = location

    def write(self, data: memoryview) -> int:
        with told(self._location):
            return os.write(self._descriptor, data)

    def finish(self) -> None:
        with told(self._location):
            os.fsync(self._descriptor)
            descriptor, self._descriptor = self._descriptor, -1
            os.close(descriptor)

    def abandon(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            with suppress(OSError):
                os.close(descriptor)
