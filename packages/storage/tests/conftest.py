"""What tests of storage share: a folder, and a way to be bound by permissions as everybody is."""

from __future__ import annotations

import ctypes
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pytest
from audioloom_mini_cluster.client import Running, running
from audioloom_storage import Location, locate

_CAPABILITIES_VERSION_3 = 0x20080522
_OVERRIDES = sum(1 << number for number in (1, 2, 3))  # CAP_DAC_OVERRIDE, _DAC_READ_SEARCH, _FOWNER


@pytest.fixture
def here(tmp_path: Path) -> Location:
    """An empty local folder."""
    return locate(tmp_path)


@dataclass(frozen=True)
class Cluster:
    """A real HDFS, whose daemons can be killed.

    Args:
        running: its processes.
    """

    running: Running

    @property
    def hdfs(self) -> Location:
        """The root, by the address of the NameNode."""
        return locate(self.running.hdfs)

    @property
    def webhdfs(self) -> Location:
        """The root, by the NameNode's page."""
        return locate(self.running.webhdfs)


class Relay:
    """A way to a daemon on which answers get lost.

    Args:
        to: host:port of the daemon.
        lose: the answer to a request that holds these bytes is lost, with its connection.
        for_good: afterwards nobody answers at all.
        forget: bytes that are left out of requests.
        mute: nothing is ever sent on.
    """

    def __init__(
        self,
        to: str,
        *,
        lose: bytes | None = None,
        for_good: bool = False,
        forget: bytes | None = None,
        mute: bool = False,
    ) -> None:
        host, _, port = to.rpartition(":")
        self._to, self._lose, self._for_good = (host, int(port)), lose, for_good
        self._forget, self._mute = forget, mute
        self.lost = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._held: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for held in self._held:
            held.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self._mute:
                    self._held.append(client)
                elif self.lost and self._for_good:
                    client.close()
                else:
                    server = socket.create_connection(self._to)
                    losing = threading.Event()
                    for pump in (self._requests, self._answers):
                        threading.Thread(
                            target=pump, args=(client, server, losing), daemon=True
                        ).start()

    def _requests(
        self, client: socket.socket, server: socket.socket, losing: threading.Event
    ) -> None:
        with suppress(OSError):
            while data := client.recv(1 << 20):
                if self._lose is not None and self._lose in data and not self.lost:
                    losing.set()
                server.sendall(data.replace(self._forget, b"") if self._forget else data)
            server.shutdown(socket.SHUT_WR)

    def _answers(
        self, client: socket.socket, server: socket.socket, losing: threading.Event
    ) -> None:
        with suppress(OSError), client, server:
            while data := server.recv(1 << 20):
                if losing.is_set():
                    self.lost += 1
                    client.shutdown(socket.SHUT_RDWR)
                    return
                client.sendall(data)


@pytest.fixture
def relay() -> type[Relay]:
    """To put between this process and a daemon."""
    return Relay


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """HDFS on this machine, for as long as the tests run."""
    with (
        running("--hdfs-only", "--tokens") as found,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("HADOOP_CONF_DIR", found.conf)
        yield Cluster(found)


@pytest.fixture
def bound_by_permissions() -> Iterator[None]:
    """Give up root's right to read everything, which container builds run tests with."""
    if os.geteuid() != 0:
        yield
        return
    with _without_overrides():
        yield


@contextmanager
def _without_overrides() -> Iterator[None]:
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_CAPABILITIES_VERSION_3, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; then the upper halves

    def call(function: str) -> None:
        if getattr(libc, function)(ctypes.byref(header), ctypes.byref(sets)) != 0:
            raise OSError(ctypes.get_errno(), function)

    call("capget")
    before = sets[0]
    sets[0] = before & ~_OVERRIDES
    call("capset")
    try:
        yield
    finally:
        sets[0] = before
        call("capset")
