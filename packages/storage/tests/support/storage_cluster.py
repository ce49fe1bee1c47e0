"""A real HDFS for tests, and a way to its daemons on which answers get lost."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

from audioloom_mini_cluster.client import Running
from audioloom_storage import Location, locate


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
