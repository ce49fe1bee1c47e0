from __future__ import annotations

import os
import socket
from http.client import HTTPConnection
from typing import Any

import pytest
from audioloom_storage import create, list_folder, locate, make_folder, publish
from audioloom_storage.webhdfs import backend
from audioloom_storage.webhdfs.client import CONNECT_SECONDS
from storage_cluster import Cluster


@pytest.mark.xdist_group("cluster")
def test_no_datanode_is_asked_for_a_file_that_is_given_up_before_its_first_byte(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would make the unfinished file when it comes to it, which may be after the removal."""
    folder = cluster.webhdfs / f"tests/{os.urandom(8).hex()}"
    make_folder(folder)
    asked: list[str] = []
    ask = HTTPConnection.putrequest

    def putrequest(self: HTTPConnection, method: str, url: str, **more: Any) -> None:
        if "op=CREATE" in url:
            asked.append(f"{method} {self.port}")
        ask(self, method, url, **more)

    monkeypatch.setattr(HTTPConnection, "putrequest", putrequest)
    publish(folder / "empty", b"")
    of_namenode, of_datanode = asked
    with pytest.raises(ValueError, match="no"), create(folder / "given-up"):
        raise ValueError("no")
    assert [of_namenode] == asked[2:]
    assert of_namenode != of_datanode
    assert ["empty"] == [entry.location.name for entry in list_folder(folder)]


def test_a_datanode_that_is_silent_is_given_up_sooner_than_one_that_writes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its disks may take minutes, a connection takes seconds."""
    limits: list[float] = []
    connect = socket.create_connection

    def connecting(address: tuple[str, int], timeout: float, *more: Any) -> socket.socket:
        limits.append(timeout)
        return connect(address, timeout, *more)

    monkeypatch.setattr(socket, "create_connection", connecting)
    with socket.create_server(("127.0.0.1", 0)) as node:
        url = f"http://127.0.0.1:{node.getsockname()[1]}/webhdfs/v1/a?op=CREATE"
        writer = backend._Writer(url, locate("webhdfs://name-node/a"))
        assert [CONNECT_SECONDS] == limits
        assert CONNECT_SECONDS < writer._http.sock.gettimeout()
        writer.abandon()
