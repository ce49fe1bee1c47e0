"""webhdfs:// over HTTP: where no port but a gateway's is open, and in encryption zones."""

# The hdfs package gives the operations of WebHDFS private names only; they are stable since 2.0.
# ruff: noqa: SLF001

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from typing import Any, BinaryIO, cast
from urllib.parse import urlsplit

from audioloom_storage.backend.fault_points import Step, step
from audioloom_storage.backend.protocol import Entry, Holder, Sink
from audioloom_storage.errors import (
    AlreadyExists,
    IsAFolder,
    NotAFolder,
    NotConfigured,
    NotFound,
)
from audioloom_storage.location import Location
from audioloom_storage.remote.commit import commit
from audioloom_storage.remote.range_reader import open_ranges
from audioloom_storage.remote.retry import Outage
from audioloom_storage.remote.retrying_sink import RetryingSink
from audioloom_storage.webhdfs.client import Connection, connection_to, refusal, told

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

_PIECE_BYTES = 256 << 10
_WRITE_SECONDS = 150.0
_CREATED = 201


def stat(location: Location) -> Entry:
    """One entry. HDFS as it comes has no links."""
    return _entry(location, _status(location))


def _status(location: Location) -> dict[str, Any]:
    found = connection_to(location).call(
        location, lambda client: client._get_file_status(location.path).json(), looking=True
    )
    return cast("dict[str, Any]", found["FileStatus"])


def list_folder(location: Location) -> Iterator[Entry]:
    """All that the NameNode tells, in an order of its own, then sorted."""
    found = connection_to(location).call(
        location, lambda client: client._list_status(location.path).json()
    )
    statuses = found["FileStatuses"]["FileStatus"]
    if len(statuses) == 1 and not statuses[0]["pathSuffix"]:
        raise NotAFolder("a file lies there", where=location, expected="a folder")
    statuses.sort(key=lambda status: status["pathSuffix"])
    return (_entry(location.child(status["pathSuffix"]), status) for status in statuses)


def folder_identity(location: Location) -> Hashable:
    """The path: there are no links."""
    return location


def open_read(location: Location) -> BinaryIO:
    """Each range is a request of its own, which the NameNode sends on to a DataNode."""
    entry = stat(location)
    if entry.is_folder:
        raise IsAFolder("a folder lies there", where=location, expected="a file")
    connection = connection_to(location)

    def open_range(offset: int, count: int) -> Iterator[bytes]:
        response = connection.call(
            location,
            lambda client: client._open(location.path, offset=offset, length=count),
            looking=True,
        )
        return _pieces(response, location)

    return open_ranges(location, entry.size, open_range, connection.patience)


def _pieces(response: Any, location: Location) -> Iterator[bytes]:
    try:
        while piece := response.raw.read(_PIECE_BYTES):
            yield piece
    except Exception as error:
        raise Outage(told(error, location).found, where=location, hint="Run again.") from error
    finally:
        response.close()


def open_new(location: Location, *, private: bool) -> Sink:
    """A name that was free; the cluster decides who may read it, if it is not private."""
    if not stat(location.parent).is_folder:  # WebHDFS would say so after the last byte
        raise NotAFolder("a file stands where a folder should", where=location.parent)
    connection = connection_to(location)
    more = {"createparent": "false"} | ({"permission": "600"} if private else {})
    asked = False
    lost: list[str] = []

    def begin() -> _WebHdfsSink:
        nonlocal asked
        if lost:
            more["excludedatanodes"] = ",".join(lost)
        # Whoever asked before and had no answer may replace: it is the one that has the name.
        more["overwrite"], asked = str(asked).lower(), True
        response = connection.attempt(
            location, lambda client: client._create(location.path, **more)
        )
        url = response.headers["location"]
        try:
            return _WebHdfsSink(url, location)
        except Outage:
            lost.append(urlsplit(url).netloc)  # the NameNode may take a while to notice
            raise

    return RetryingSink(begin, connection.patience)


def move(temporary: Location, target: Location) -> None:
    """By a rename with options: the plain one moves into a folder, and says that all is well."""
    connection = connection_to(target)
    if not connection.renames_safely:
        _prove_safe(connection, temporary, target)

    def rename(temporary: Location, target: Location) -> None:
        answer = connection.attempt(target, lambda client: _rename(client, temporary, target))
        if answer:
            raise _unsafe(target)

    commit(temporary, target, rename, stat, connection.patience)


def _rename(client: Any, source: Location, target: Location) -> bytes:
    response = client._rename(source.path, destination=target.path, renameoptions="NONE")
    return bytes(response.content)


def _prove_safe(connection: Connection, temporary: Location, target: Location) -> None:
    """Rename a file to itself, which does no harm: with options that is refused, without it is not.

    A gateway that does not know the options (HttpFS) leaves them out without a word.
    """
    try:
        connection.call(target, lambda client: _rename(client, temporary, temporary))
    except AlreadyExists:
        connection.renames_safely = True
    else:
        raise _unsafe(target)


def _unsafe(target: Location) -> NotConfigured:
    return NotConfigured(
        "this gateway leaves out the options of a rename, so it might move a file into a folder "
        "that has its name",
        where=target,
        hint="Name the page of the NameNode itself (webhdfs://NAMENODE:9870/…), or use hdfs://.",
    )


def permissions(location: Location) -> int:
    """As the NameNode tells; with an ACL its bits for the group are the mask."""
    return int(_status(location)["permission"], 8)


def holder(location: Location) -> Holder:
    """As the NameNode tells; it names its user by their home."""
    found, connection = _status(location), connection_to(location)
    if not connection.user:
        home = connection.call(location, lambda client: client._get_home_directory("/").json())
        connection.user = home["Path"].rpartition("/")[2]
    return Holder(found["owner"], connection.user, int(found["permission"], 8))


def set_permissions(location: Location, mode: int) -> None:
    """Only the owner may."""
    connection_to(location).call(
        location,
        lambda client: client._set_permission(location.path, permission=f"{mode:o}"),
        looking=True,
    )


def make_folder(location: Location, *, private: bool) -> None:
    """In one call; a private one in two, for its parents get the permissions of the folder."""
    if private:
        make_folder(location.parent, private=False)
    mode = {"permission": "700"} if private else {}
    try:
        connection_to(location).call(location, lambda client: client._mkdirs(location.path, **mode))
    except AlreadyExists as error:
        raise NotAFolder("no folder lies there", where=location) from error


def remove(location: Location, *, within: Location | None = None) -> None:
    """For good: nothing goes to the trash. No link can lie *within*: HDFS has none."""
    del within
    if stat(location).is_folder:  # HDFS would remove an empty one
        raise IsAFolder("a folder lies there", where=location, expected="a file")
    if not _delete(connection_to(location), location):
        raise NotFound("it was removed by somebody else", where=location)


def remove_tree(location: Location, *, within: Location | None = None) -> None:
    """In one call, for good: nothing goes to the trash. No link can lie *within*."""
    del within
    if not stat(location).is_folder:
        raise NotAFolder("a file lies there", where=location, expected="a folder")
    step(Step.REMOVE, location)
    if not _delete(connection_to(location), location, recursive="true"):
        raise NotFound("it was removed by somebody else", where=location)


def remove_empty_folder(location: Location, *, within: Location | None = None) -> bool:
    """In one call, which removes no folder that holds something. No link can lie *within*."""
    del within
    if not stat(location).is_folder:  # HDFS would remove a file
        raise NotAFolder("a file lies there", where=location, expected="a folder")
    try:
        return _delete(connection_to(location), location)
    except IsAFolder:  # it holds something
        return False


def _delete(connection: Connection, location: Location, recursive: str = "false") -> bool:
    answer = connection.call(
        location, lambda client: client._delete(location.path, recursive=recursive).json()
    )
    return bool(answer["boolean"])


def _entry(location: Location, status: dict[str, Any]) -> Entry:
    is_folder = status["type"] == "DIRECTORY"
    size = 0 if is_folder else int(status["length"])
    return Entry(location, size, int(status["modificationTime"]) * 1_000_000, is_folder)


class _WebHdfsSink:
    """One request of unknown length. A DataNode answers once it has closed the file."""

    def __init__(self, url: str, location: Location) -> None:
        where = urlsplit(url)
        self._location = location
        self._http = HTTPConnection(where.netloc, timeout=_WRITE_SECONDS)
        try:
            self._http.connect()
        except OSError as error:
            raise told(error, location) from error
        self._http.putrequest("PUT", f"{where.path}?{where.query}")
        self._http.putheader("Content-Type", "application/octet-stream")  # HttpFS wants it
        self._http.putheader("Transfer-Encoding", "chunked")
        self._send()

    def write(self, data: memoryview) -> int:
        self._send(b"%x\r\n" % len(data), data, b"\r\n")
        return len(data)

    def finish(self) -> None:
        self._send(b"0\r\n\r\n")
        self._told(_CREATED)
        self._http.close()

    def abandon(self) -> None:
        self._http.close()

    def _send(self, *parts: bytes | memoryview) -> None:
        try:
            if not parts:
                self._http.endheaders()
            for part in parts:
                self._http.send(part)
        except OSError as error:
            with suppress(Outage):  # it may have said why before it stopped listening
                self._told(0)
            raise told(error, self._location) from error

    def _told(self, expected: int) -> None:
        try:
            response = self._http.getresponse()
            body = response.read()
        except (OSError, HTTPException) as error:
            raise told(OSError(str(error)), self._location) from error
        if response.status != expected:
            raise refusal(response.status, body, self._location)
