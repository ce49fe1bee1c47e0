"""The webhdfs:// backend over HTTP, for encryption zones and where only a gateway is reachable."""

# The hdfs package gives the operations of WebHDFS private names only; they are stable since 2.0.
# ruff: noqa: SLF001

from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from typing import Any, BinaryIO
from urllib.parse import urlsplit

from audioloom_storage.backend.protocol import Backend, Entry
from audioloom_storage.errors import AlreadyExists, IsAFolder, NotAFolder, NotConfigured
from audioloom_storage.location import Location
from audioloom_storage.remote.backend import HadoopBackend
from audioloom_storage.remote.range_reader import open_ranges
from audioloom_storage.remote.retry import Outage, RetryingWriter
from audioloom_storage.webhdfs.client import (
    CONNECT_SECONDS,
    Connection,
    connection_to,
    refusal,
    translated,
)

_PIECE_BYTES = 256 << 10
_WRITE_SECONDS = 150.0
_CREATED = 201


class _WebHdfs(HadoopBackend[Any]):
    def user(self, location: Location) -> str:
        connection = connection_to(location)
        if not connection.user:  # the NameNode names its user by the home folder
            home = self.ask(location, lambda client: client._get_home_directory("/").json())
            connection.user = home["Path"].rpartition("/")[2]
        return connection.user

    def stat(self, location: Location) -> Entry:
        found = self.ask(
            location, lambda client: client._get_file_status(location.path).json(), looking=True
        )
        return self.entry(location, found["FileStatus"])

    def statuses(self, location: Location) -> list[tuple[str, dict[str, Any]]]:
        found = self.ask(location, lambda client: client._list_status(location.path).json())
        return [(each["pathSuffix"], each) for each in found["FileStatuses"]["FileStatus"]]

    def entry(self, location: Location, status: dict[str, Any]) -> Entry:
        is_folder = status["type"] == "DIRECTORY"
        return Entry(
            location,
            size=0 if is_folder else int(status["length"]),
            modified_ns=int(status["modificationTime"]) * 1_000_000,
            is_folder=is_folder,
            mode=int(status["permission"], 8),
            owner=status["owner"],
        )

    def set_permissions(self, location: Location, mode: int) -> None:
        wanted = f"{mode:o}"
        self.ask(
            location,
            lambda client: client._set_permission(location.path, permission=wanted),
            looking=True,
        )

    def make_folders(self, location: Location, *, private: bool) -> None:
        mode = {"permission": "700"} if private else {}
        self.ask(location, lambda client: client._mkdirs(location.path, **mode))

    def delete(self, location: Location) -> bool:
        answer = self.ask(
            location, lambda client: client._delete(location.path, recursive="false").json()
        )
        return bool(answer["boolean"])

    def rename(self, temporary: Location, target: Location) -> None:
        # With options, because the plain rename moves into a folder and reports success.
        if connection_to(target).attempt(target, lambda client: _rename(client, temporary, target)):
            raise _unsafe(target)

    def commit(self, temporary: Location, target: Location, size: int) -> None:
        """Rename, if the gateway is proved to obey the options of a rename."""
        connection = connection_to(target)
        if not connection.renames_safely:
            _prove_safe(connection, temporary, target)
        super().commit(temporary, target, size)

    def start(
        self, temporary: Location, *, private: bool, replication: int | None
    ) -> RetryingWriter:
        # The cluster decides who may read the file, unless it is private.
        if not self.stat(temporary.parent).is_folder:  # WebHDFS reports it after all bytes
            raise NotAFolder("a file stands where a folder should", where=temporary.parent)
        connection = connection_to(temporary)
        more = {"createparent": "false"} | ({"permission": "600"} if private else {})
        if replication is not None:
            more["replication"] = str(replication)
        lost: list[str] = []

        def begin(earlier: int) -> _Writer:
            if lost:
                more["excludedatanodes"] = ",".join(lost)
            more["overwrite"] = "true" if earlier else "false"
            response = connection.attempt(
                temporary, lambda client: client._create(temporary.path, **more)
            )
            url = response.headers["location"]
            try:
                return _Writer(url, temporary)
            except Outage:
                lost.append(urlsplit(url).netloc)  # the NameNode may take a while to notice
                raise

        return RetryingWriter(begin, connection.retry)

    def open_read(self, location: Location) -> BinaryIO:
        # Each range is a request of its own, which the NameNode redirects to a DataNode.
        entry = self.stat(location)
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

        return open_ranges(location, entry.size, open_range, connection.retry)


def _pieces(response: Any, location: Location) -> Iterator[bytes]:
    try:
        while piece := response.raw.read(_PIECE_BYTES):
            yield piece
    except Exception as error:
        raise Outage(
            translated(error, location).found, where=location, hint="Run again."
        ) from error
    finally:
        response.close()


def _rename(client: Any, source: Location, target: Location) -> bytes:
    response = client._rename(source.path, destination=target.path, renameoptions="NONE")
    return bytes(response.content)


def _prove_safe(connection: Connection, temporary: Location, target: Location) -> None:
    """Rename a file to itself, which is harmless: only with options is that refused.

    A gateway that does not know the options (HttpFS) silently ignores them.
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


class _Writer:
    """A writer of one request of unknown length. A DataNode answers once it has closed the file.

    The request starts with the first bytes. If it started earlier, a DataNode could make the file
    of an abandoned writer late, perhaps after its removal.
    """

    def __init__(self, url: str, location: Location) -> None:
        self._url = urlsplit(url)
        self._location = location
        self._is_asked = False
        self._http = HTTPConnection(self._url.netloc, timeout=CONNECT_SECONDS)
        try:
            self._http.connect()
            self._http.sock.settimeout(_WRITE_SECONDS)
        except OSError as error:
            raise translated(error, location) from error

    def write(self, data: memoryview) -> int:
        self._send(b"%x\r\n" % len(data), data, b"\r\n")
        return len(data)

    def finish(self) -> None:
        self._send(b"0\r\n\r\n")
        self._check_answer(_CREATED)
        self._http.close()

    def abandon(self) -> None:
        self._http.close()

    def _send(self, *parts: bytes | memoryview) -> None:
        try:
            if not self._is_asked:
                self._is_asked = True
                self._http.putrequest("PUT", f"{self._url.path}?{self._url.query}")
                # HttpFS requires the type.
                self._http.putheader("Content-Type", "application/octet-stream")
                self._http.putheader("Transfer-Encoding", "chunked")
                self._http.endheaders()
            for part in parts:
                self._http.send(part)
        except OSError as error:
            with suppress(Outage):  # its answer may have come before it stopped listening
                self._check_answer(0)
            raise translated(error, self._location) from error

    def _check_answer(self, expected: int) -> None:
        try:
            response = self._http.getresponse()
            body = response.read()
        except (OSError, HTTPException) as error:
            raise translated(OSError(str(error)), self._location) from error
        if response.status != expected:
            raise refusal(response.status, body, self._location)


BACKEND: Backend = _WebHdfs(connection_to)
