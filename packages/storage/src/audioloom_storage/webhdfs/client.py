"""HTTP to a NameNode or a gateway, through one client of the `hdfs` package per thread."""

import getpass
import os
import threading
from collections.abc import Callable
from typing import Any

import hdfs  # type: ignore[import-untyped]
import requests

from audioloom_storage.errors import NotConfigured, PermissionDenied, StorageError, Unavailable
from audioloom_storage.location import Location
from audioloom_storage.remote import retry as remote
from audioloom_storage.remote.errors import translated as translated_java
from audioloom_storage.remote.retry import Outage, T

CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 60.0
_SHOWN_LETTERS = 150


class _Client(hdfs.InsecureClient):  # type: ignore[misc]
    """A client that takes names literally: the original looks "#LATEST" up on the server."""

    def resolve(self, hdfs_path: str) -> str:
        return hdfs_path


Ask = Callable[[Any], T]


class Connection(remote.Connection[Any]):
    """The connection of this process to one address, host and port."""

    def __init__(self, authority: str) -> None:
        super().__init__()
        self.renames_safely = False  # not known yet
        self._authority = authority
        self._of_thread = threading.local()

    def attempt(self, location: Location, ask: Ask[T], *, looking: bool = False) -> T:
        """Ask once and return the answer."""
        client = self._client(location)
        try:
            return ask(client)
        except Exception as error:
            raise translated(error, location, looking=looking) from error

    def _client(self, location: Location) -> Any:
        # Neither a thread nor a fork may share the sockets of another.
        mine = self._of_thread.__dict__
        if mine.get("process") != os.getpid():
            session = requests.Session()
            session.trust_env = False  # the cluster is on this side of a proxy, as for a writer
            mine["client"] = _Client(
                f"http://{self._authority}",
                user=_user(location),
                timeout=(CONNECT_SECONDS, ANSWER_SECONDS),
                session=session,
            )
            mine["process"] = os.getpid()
        return mine["client"]


def _user(location: Location) -> str:
    try:
        return os.environ.get("HADOOP_USER_NAME") or getpass.getuser()
    except (KeyError, OSError):  # OSError from Python 3.13 on
        raise NotConfigured(
            f"the user who runs this, number {os.getuid()}, has no name on this machine",
            where=location,
            expected="a name to tell the cluster",
            hint="Set HADOOP_USER_NAME.",
        ) from None


def translated(error: Exception, location: Location, *, looking: bool = False) -> StorageError:
    """Return a failure of the request as an error of this package."""
    if isinstance(error, StorageError):
        return error
    if isinstance(error, hdfs.HdfsError):
        text = error.message  # of a page that is no JSON it keeps the bytes
        said = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        if error.exception is not None:
            return translated_java(error.exception, said, location, looking=looking)
        if said.startswith("Authentication failure"):
            return PermissionDenied(
                "the gateway asks who we are in a way that webhdfs:// does not know",
                where=location,
                hint="Use hdfs://, which knows Kerberos and delegation tokens.",
            )
        return _no_webhdfs(said.strip(), location)
    if isinstance(error, (OSError, requests.RequestException)):
        inner: BaseException = error
        while (next_one := inner.__cause__ or inner.__context__) is not None:
            inner = next_one
        cause = str(inner) or type(inner).__name__
        return Outage(f"no answer: {cause}", where=location, hint=_HINT)
    return _no_webhdfs(repr(error), location)


def _no_webhdfs(said: str, location: Location) -> Unavailable:
    shown = said.partition("\n")[0][:_SHOWN_LETTERS]
    return Unavailable(f"this is no answer of WebHDFS: {shown}", where=location, hint=_HINT)


def refusal(status: int, body: bytes, location: Location) -> StorageError:
    """Return the error for a DataNode that did not do what it was asked."""
    response = requests.Response()
    response.status_code, response._content = status, body  # noqa: SLF001
    return translated(hdfs.client._to_error(response), location)  # noqa: SLF001


_HINT = "Check that host and port are those of the NameNode's page or of a gateway, then run again."


_KNOWN: dict[str, Connection] = {}


def connection_to(location: Location) -> Connection:
    """Return the connection of this process to the address of a location."""
    if not location.authority:
        raise NotConfigured(
            "this location names no host",
            where=location,
            expected="webhdfs://HOST:PORT/…, of the NameNode's page or of a gateway",
        )
    return _KNOWN.setdefault(location.authority, Connection(location.authority))
