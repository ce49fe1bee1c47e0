"""The hdfs:// backend on hdfs-native: no Java in this process."""

import itertools
import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import BinaryIO, cast

from audioloom_hadoop.configuration import NotConfigured, of_clients
from hdfs_native import Client, FileReader, FileStatus, FileWriter, WriteOptions

from audioloom_storage import errors
from audioloom_storage.backend.protocol import Backend, Entry
from audioloom_storage.backend.temporary import temporary_beside
from audioloom_storage.hdfs.client import Connection, connection_to
from audioloom_storage.hdfs.errors import translated
from audioloom_storage.location import Location
from audioloom_storage.remote.backend import HadoopBackend
from audioloom_storage.remote.range_reader import open_ranges
from audioloom_storage.remote.retry import Busy, Outage, RetryingWriter

_NAMES_AT_A_TIME = 1000  # as many as a NameNode sends in one answer
_LONGEST_WRITE_BYTES = 4 << 20
_ONE_PIECE_BYTES = 512 << 10  # a shorter range arrives sooner than the pieces of a stream
_TMP = "/tmp"  # noqa: S108 - the cluster's, where every user may make something
_UMASK = 0o022  # as Hadoop comes
_STRICTEST_UMASK = 0o077
_WRITE_SECONDS = 150.0  # a DataNode that is lost meanwhile is given up after 60 s


class _Hdfs(HadoopBackend[Client]):
    def user(self, location: Location) -> str:
        # By the owner of a folder made there, or in /tmp: the cluster decides the user by tokens or
        # by its rules for Kerberos principals. "" where the user may make nothing (a quota).
        connection = connection_to(location)
        for folder in (location.parent, Location(location.scheme, location.authority, _TMP)):
            if not connection.user:
                connection.user = connection.retry.run(partial(_owner_made, connection, folder))
        return connection.user

    def stat(self, location: Location) -> Entry:
        found = self.ask(location, lambda client: client.get_file_info(location.path), looking=True)
        return self.entry(location, found)

    def statuses(self, location: Location) -> list[tuple[str, FileStatus]]:
        connection = connection_to(location)
        return connection.retry.run(lambda: _listing(connection, location))

    def entry(self, location: Location, status: FileStatus) -> Entry:
        return Entry(
            location,
            size=0 if status.isdir else status.length,
            modified_ns=status.modification_time * 1_000_000,
            is_folder=status.isdir,
            mode=int(status.permission) & 0o7777,
            owner=status.owner,
        )

    def set_permissions(self, location: Location, mode: int) -> None:
        self.ask(location, lambda client: client.set_permission(location.path, mode), looking=True)

    def make_folders(self, location: Location, *, private: bool) -> None:
        mode = 0o700 if private else 0o777 & ~umask()
        self.ask(location, lambda client: client.mkdirs(location.path, mode, create_parent=True))

    def delete(self, location: Location) -> bool:
        return self.ask(location, lambda client: client.delete(location.path, recursive=False))

    def rename(self, temporary: Location, target: Location) -> None:
        connection_to(target).attempt(
            target, lambda client: client.rename(temporary.path, target.path, overwrite=False)
        )

    def start(
        self, temporary: Location, *, private: bool, replication: int | None
    ) -> RetryingWriter:
        # The cluster's umask decides who may read the file, unless it is private.
        connection = connection_to(temporary)
        mode = 0o600 if private else 0o666 & ~umask()
        copies = default_replication() if replication is None else replication

        def begin(earlier: int) -> _Writer:
            options = WriteOptions(
                replication=copies,
                permission=mode,
                overwrite=earlier > 0,
                create_parent=False,
            )
            try:
                writer = connection.attempt(
                    temporary, lambda client: client.create(temporary.path, options)
                )
            except errors.AlreadyExists as error:
                # Nobody else has this name: hdfs-native repeated a request whose answer was lost.
                raise Busy("its answer was lost", where=temporary, hint="Run again.") from error
            return _Writer(connection, temporary, writer)

        return RetryingWriter(begin, connection.retry)

    def open_read(self, location: Location) -> BinaryIO:
        # Through the DataNodes; if one fails, the block comes from the next one.
        reading = _Reading(location)
        return open_ranges(location, reading.size, reading.range, connection_to(location).retry)


def _listing(connection: Connection, location: Location) -> list[tuple[str, FileStatus]]:
    named: list[tuple[str, FileStatus]] = []
    begin = len(location.path.rstrip("/")) + 1
    statuses = connection.attempt(location, lambda client: client.list_status(location.path))
    more = partial(itertools.islice, statuses, _NAMES_AT_A_TIME)
    while batch := connection.attempt(location, lambda _: list(more())):
        named += [(status.path[begin:], status) for status in batch]
    return named


def _owner_made(connection: Connection, folder: Location) -> str:
    # The owner of that folder, or whoever writes it without a sticky bit, can replace any name that
    # they see there, between two calls. So one call makes two folders, the upper one closed from
    # the start. Nobody else sees the name of the lower one, whose owner is asked for. No call is
    # repeated with the same names: by then the upper one could be another user's.
    upper = temporary_beside(folder.child("user"))
    lower = upper.child(os.urandom(16).hex())

    def make(client: Client) -> None:
        client.get_file_info(folder.path)  # the folder cannot be made
        client.mkdirs(lower.path, 0o700, create_parent=True)

    try:
        connection.attempt(folder, make)
        return str(connection.attempt(lower, lambda client: client.get_file_info(lower.path)).owner)
    except (errors.NoSpace, errors.NotAFolder, errors.NotFound, errors.PermissionDenied):
        return ""
    finally:
        for made in (lower, upper):  # if it is another user's by now and holds something, it stays
            with suppress(errors.StorageError):
                connection.attempt(made, partial(Client.delete, path=made.path))


class _Reading:
    """The blocks of a file; their places are asked for again after a failure, and in a fork."""

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
        except errors.NotFound:
            # HDFS reports a folder as a file that is not found.
            if not BACKEND.stat(self._location).is_folder:
                raise
            found = "a folder lies there"
            raise errors.IsAFolder(found, where=self._location, expected="a file") from None

    def range(self, offset: int, count: int) -> Iterator[bytes]:
        if self._reader is None or self._process != os.getpid():
            self._reader = self._open()
            self._process = os.getpid()
            if len(self._reader) != self.size:
                raise errors.Unavailable(
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
            reason = translated(error, self._location, looking=True)
            raise Outage(reason.found, where=self._location, hint=reason.hint) from error


class _Writer:
    """A writer whose close forces the last block to disk on every DataNode, like each block before.

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
        writer = cast("FileWriter", self._writer)
        try:
            self._connection.attempt(self._location, lambda _: action(writer), _WRITE_SECONDS)
        except errors.Unavailable as error:
            if type(error) not in (errors.Unavailable, Outage):
                raise
            raise Outage(
                f"the cluster failed while the file was written: {error.found}",
                where=self._location,
                hint="Check that NameNode and DataNodes are healthy, then run again.",
            ) from error


# hdfs-native ignores these properties of the cluster's configuration.


def umask() -> int:
    """Return the umask of new files and folders: `fs.permissions.umask-mode`.

    A value that is not octal counts as the strictest, so that no file of ours is ever more open
    than the cluster's owner wants.
    """
    text = _value("fs.permissions.umask-mode")
    if not text:
        return _UMASK
    return int(text, 8) if re.fullmatch("0?[0-7]{1,3}", text) else _STRICTEST_UMASK


def default_replication() -> int | None:
    """Return how many copies of a block new files request: `dfs.replication`, as in other clients.

    Returns None if it is not set, or is no number; then the NameNode decides.
    """
    text = _value("dfs.replication")
    return int(text) if re.fullmatch("[1-9][0-9]{0,3}", text) else None


def _value(name: str) -> str:
    try:
        return of_clients().value(name)
    except NotConfigured:  # hdfs-native has read these files before: there is none
        return ""


BACKEND: Backend = _Hdfs(connection_to)
