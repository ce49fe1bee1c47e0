"""One connection to a cluster per process: made at first use, with time limits, lost in a fork.

hdfs-native starts threads, which a fork does not inherit. In a fork, an inherited client never
answers, and even dropping it waits for its threads forever. It has no time limit for a NameNode.
"""

import ctypes
import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import hdfs_native

from audioloom_storage.deadline import within
from audioloom_storage.hdfs.errors import translated
from audioloom_storage.hdfs.fork_safety import cut_off, watched
from audioloom_storage.location import Location
from audioloom_storage.remote import retry as remote
from audioloom_storage.remote.delegation_tokens import name_with_token
from audioloom_storage.remote.retry import T

Ask = Callable[[hdfs_native.Client], T]

CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 60.0  # a NameNode under load takes its time

# By default hdfs-native repeats for three minutes. `Retry` knows better when repeating makes
# sense, so one try for each NameNode of a nameservice remains here.
_SETTINGS = {
    "dfs.client.failover.max.attempts": "4",
    "dfs.client.failover.sleep.base.millis": "50",
    "dfs.client.failover.sleep.max.millis": "250",
}
_ONE_NAMENODE = {**_SETTINGS, "dfs.client.failover.max.attempts": "0"}


class Connection(remote.Connection[hdfs_native.Client]):
    """A client of one cluster, with a time limit for each answer; "" is that of HADOOP_CONF_DIR."""

    def __init__(self, authority: str) -> None:
        super().__init__()
        self._authority = authority
        self._client: hdfs_native.Client | None = None
        self._until = math.inf  # when its token ends

    def attempt(
        self,
        location: Location,
        ask: Ask[T],
        seconds: float | None = None,
        *,
        looking: bool = False,
    ) -> T:
        """Ask once, and give up after so many seconds."""
        client = self._reach(location)
        with _translating(location, looking=looking):
            try:
                return within(seconds or ANSWER_SECONDS, lambda: ask(client))
            except TimeoutError:
                self._give_up(client)
                raise

    def leave_behind(self) -> None:
        """Keep the inherited client in a fork, without ever using or dropping it."""
        if self._client is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._client))

    def _reach(self, location: Location) -> hdfs_native.Client:
        client = self._client
        if client is not None and time.time() >= self._until:
            self._give_up(client)  # the file may hold a fresh token by now
            client = None
        if client is None:  # nobody waits for ten seconds behind another call that connects
            client = self._connect(location)
            self._client = client = self._client or client
        return client

    def _connect(self, location: Location) -> hdfs_native.Client:
        # A wrong name must cost only seconds, so the first question is a quick one.
        name, until = name_with_token(self._authority)
        url = f"hdfs://{name}/"
        settings = _ONE_NAMENODE if ":" in self._authority else _SETTINGS

        def connect() -> hdfs_native.Client:
            with watched():
                client = hdfs_native.Client(url, settings)
            client.get_file_info("/")
            return client

        with _translating(location):
            client = within(CONNECT_SECONDS, connect)
        self._until = until
        return client

    def _give_up(self, client: hdfs_native.Client) -> None:
        if self._client is client:  # it still waits, and later questions would wait too
            self._client = None


@contextmanager
def _translating(location: Location, *, looking: bool = False) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            raise translated(error, location, looking=looking) from error
        raise


KNOWN: dict[str, Connection] = {}
"""The connections of this process, by authority."""


def connection_to(location: Location) -> Connection:
    """Return the connection of this process to the cluster of a location."""
    return KNOWN.setdefault(location.authority, Connection(location.authority))


def _forked() -> None:
    cut_off()
    for connection in KNOWN.values():
        connection.leave_behind()
    KNOWN.clear()


os.register_at_fork(after_in_child=_forked)
