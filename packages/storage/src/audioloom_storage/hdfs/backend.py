"""hdfs:// by hdfs-native: no Java in this process."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Hashable, Iterator
from typing import BinaryIO

from hdfs_native import Client, FileReader, FileStatus, FileWriter, WriteOptions

from audioloom_storage.backend.fault_points import Step, step
from audioloom_storage.backend.protocol import Entry, Holder, Sink
from audioloom_storage.backend.temporary import is_temporary
from audioloom_storage.errors import (
    AlreadyExists,
    IsAFolder,
    NotAFolder,
    NotFound,
    Unavailable,
)
from audioloom_storage.hdfs.client import Connection, connection_to, user_at
from audioloom_storage.hdfs.errors import translated
from audioloom_storage.hdfs.settings import replication, umask
from audioloom_storage.location import Location
from audioloom_storage.remote.commit import commit
from audioloom_storage.remote.range_reader import open_ranges
from audioloom_storage.remote.retry import Busy, Outage
from audioloom_storage.remote.retrying_sink import RetryingSink

__all__ = [  # what `Backend` asks for
    "folder_identity",
    "holder",
    "list_folder",
    "make_folder",
    "move",
    "open_new",
    "open_read",
    "permissions",
    "remove",
    "remove_empty_folder",
    "remove_tree",
    "set_permissions",
    "stat",
]

_NAMES_AT_A_TIME = 1000  # as many as a NameNode sends in one answer
_LONGEST_WRITE_BYTES = 4 << 20
_ONE_PIECE_BYTES = 512 << 10  # such a range is there sooner than a stream's pieces could be used
_WRITE_SECONDS = 150.0  # a DataNode that is lost in between is given up after 60 s


def stat(location: Location) -> Entry:
    """One entry. HDFS as it comes has no links."""
    return _entry(location, _status(location))


def _status(location: Location) -> FileStatus:
    return connection_to(location).call(
        location, lambda client: client.get_file_info(location.path), looking=True
    )


def list_folder(location: Location) -> Iterator[Entry]:
    """All that the NameNode tells, in an order of its own, then sorted."""
    connection = connection_to(location)
    found = connection.patience.run(lambda: _listing(connection, location))
    if len(found) == 1 and found[0][0] == "":
        raise NotAFolder("a file lies there", where=location, expected="a folder")
    found.sort()
    return (
        Entry(location.child(name), size, modified_ns, is_folder)
        for name, size, modified_ns, is_folder in found
    )


def _listing(connection: Connection, location: Location) -> list[tuple[str, int, int, bool]]:
    names: list[tuple[str, int, int, bool]] = []
    begin = len(location.path.rstrip("/")) + 1
    statuses: Iterator[FileStatus] = iter(())

    def ask(client: Client) -> list[FileStatus]:
        nonlocal statuses
        if not names:
            statuses = client.list_status(location.path)
        return list(itertools.islice(statuses, _NAMES_AT_A_TIME))

    while batch := connection.attempt(location, ask):
        for status in batch:
            entry = _entry(location, status)
            names.append((status.path[begin:], entry.size, entry.modified_ns, entry.is_folder))
    return names


def folder_identity(location: Location) -> Hashable:
    """The path: there are no links."""
    return location


def open_read(location: Location) -> BinaryIO:
    """Through the DataNodes, each block from the next one where one of them fails."""
    reading = _Reading(location)
    return open_ranges(location, reading.size, reading.range, connection_to(location).patience)


class _Reading:
    """Where the blocks of a file lie; asked again after a failure, and in a fork."""

    def __init__(self, location: Location) -> None:
        self._location = location
        self._reader: FileReader | None = self._open()
        self._process = os.getpid()
        self.size = len(self._reader)

    def _open(self) -> FileReader:
        connection = connection_to(self._location)
        try:
            return connection.call(
                self._location, lambda client: client.read(self._location.path), looking=True
            )
        except NotFound:
            if stat(self._location).is_folder:  # HDFS says of a folder that it finds no file
                raise IsAFolder(
                    "a folder lies there", where=self._location, expected="a file"
                ) from None
            raise

    def range(self, offset: int, count: int) -> Iterator[bytes]:
        if self._reader is None or self._process != os.getpid():
            self._reader = self._open()
            self._process = os.getpid()
            if len(self._reader) != self.size:
                raise Unavailable(
                    f"the file changed while it was read, to {len(self._reader)} bytes",
                    where=self._location,
                    expected=f"the {self.size} bytes it had when it was opened",
                    hint="Run again.",
                )
        return self._pieces(self._reader, offset, count)

    def _pieces(self, reader: FileReader, offset: int, count: int) -> Iterator[bytes]:
        try:
            if count <= _ONE_PIECE_BYTES:
                yield reader.read_range(offset, count)
            else:
                yield from reader.read_range_stream(offset, count)
        except Exception as error:
            self._reader = None  # the blocks may have moved
            told = translated(error, self._location, looking=True)
            raise Outage(told.found, where=self._location, hint=told.hint) from error


def open_new(location: Location, *, private: bool) -> Sink:
    """A name that was free; the cluster's umask decides who may read it, if it is not private."""
    connection = connection_to(location)
    mode = 0o600 if private else 0o666 & ~umask()
    asked = False

    def begin() -> _HdfsSink:
        nonlocal asked
        # Whoever asked before and had no answer may replace: it is the one that has the name.
        overwrite, asked = asked, True
        return _HdfsSink(
            connection, location, _new_writer(connection, location, mode, overwrite=overwrite)
        )

    return RetryingSink(begin, connection.patience)


def _new_writer(
    connection: Connection, location: Location, mode: int, *, overwrite: bool
) -> FileWriter:
    options = WriteOptions(
        replication=replication(), permission=mode, overwrite=overwrite, create_parent=False
    )
    try:
        return connection.attempt(location, lambda client: client.create(location.path, options))
    except AlreadyExists as error:
        if not is_temporary(location.name):
            raise
        # Nobody else has this name: hdfs-native repeated a request whose answer was lost.
        raise Busy("its answer was lost", where=location, hint="Run again.") from error


def move(temporary: Location, target: Location) -> None:
    """By the rename that does not replace, and that never moves into a folder."""
    connection = connection_to(target)

    def rename(temporary: Location, target: Location) -> None:
        connection.attempt(
            target, lambda client: client.rename(temporary.path, target.path, overwrite=False)
        )

    commit(temporary, target, rename, stat, connection.patience)


def permissions(location: Location) -> int:
    """As the NameNode tells; with an ACL its bits for the group are the mask."""
    return int(_status(location).permission) & 0o7777


def holder(location: Location) -> Holder:
    """As the NameNode tells; with an ACL its bits for the group are the mask."""
    found = _status(location)
    return Holder(found.owner, user_at(location), int(found.permission) & 0o7777)


def set_permissions(location: Location, mode: int) -> None:
    """Only the owner may."""
    connection_to(location).call(
        location, lambda client: client.set_permission(location.path, mode), looking=True
    )


def make_folder(location: Location, *, private: bool) -> None:
    """In one call; a private one in two, for its parents get the permissions of the folder."""
    if private:
        make_folder(location.parent, private=False)
    mode = 0o700 if private else 0o777 & ~umask()
    try:
        connection_to(location).call(
            location, lambda client: client.mkdirs(location.path, mode, create_parent=True)
        )
    except AlreadyExists as error:
        raise NotAFolder("no folder lies there", where=location) from error


def remove(location: Location, *, within: Location | None = None) -> None:
    """For good: nothing goes to the trash. No link can lie *within*: HDFS has none."""
    del within
    if stat(location).is_folder:  # HDFS would remove an empty one
        raise IsAFolder("a folder lies there", where=location, expected="a file")
    if not connection_to(location).call(location, lambda client: client.delete(location.path)):
        raise NotFound("it was removed by somebody else", where=location)


def remove_tree(location: Location, *, within: Location | None = None) -> None:
    """In one call, for good: nothing goes to the trash. No link can lie *within*."""
    del within
    if not stat(location).is_folder:
        raise NotAFolder("a file lies there", where=location, expected="a folder")
    step(Step.REMOVE, location)
    if not connection_to(location).call(
        location, lambda client: client.delete(location.path, recursive=True)
    ):
        raise NotFound("it was removed by somebody else", where=location)


def remove_empty_folder(location: Location, *, within: Location | None = None) -> bool:
    """In one call, which removes no folder that holds something. No link can lie *within*."""
    del within
    if not stat(location).is_folder:  # HDFS would remove a file
        raise NotAFolder("a file lies there", where=location, expected="a folder")
    try:
        return connection_to(location).call(location, lambda client: client.delete(location.path))
    except IsAFolder:  # it holds something
        return False


def _entry(location: Location, found: FileStatus) -> Entry:
    size = 0 if found.isdir else found.length
    return Entry(location, size, found.modification_time * 1_000_000, found.isdir)


class _HdfsSink:
    """Closing asks every DataNode of the last block to force it to disk, as each block before.

    hdfs-native goes on when a DataNode is lost under it, but gives up when one that the NameNode
    takes for alive cannot be reached.
    """

    def __init__(self, connection: Connection, location: Location, writer: FileWriter) -> None:
        self._connection = connection
        self._location = location
        self._writer: FileWriter | None = writer

    def write(self, data: memoryview) -> int:
        piece = bytes(data[:_LONGEST_WRITE_BYTES])
        self._do(lambda writer: writer.write(piece))
        return len(piece)

    def finish(self) -> None:
        self._do(lambda writer: writer.close())
        self._writer = None

    def abandon(self) -> None:
        self._writer = None

    def _do(self, action: Callable[[FileWriter], object]) -> None:
        writer = self._writer
        if writer is None:
            raise ValueError(f"{self._location}: the file is closed")
        try:
            self._connection.attempt(self._location, lambda _: action(writer), _WRITE_SECONDS)
        except Unavailable as error:
            if type(error) not in (Unavailable, Outage):
                raise
            raise Outage(
                f"the cluster failed while the file was written: {error.found}",
                where=self._location,
                hint="See that NameNode and DataNodes are well, then run again.",
            ) from error
