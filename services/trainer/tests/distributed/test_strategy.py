from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from audioloom_trainer.distributed.cluster import Cluster
from audioloom_trainer.distributed.strategy import warn_of_listeners
from shard_maker import make_shards
from structlog.testing import capture_logs
from trainer_workers import NETWORK, ForkServer

TRY_AGAIN = 75


@pytest.fixture
def said() -> Iterator[list[Any]]:
    """What is logged, as it is."""
    with capture_logs() as logs:
        yield logs


@pytest.mark.parametrize("host", ["localhost", "0.0.0.0"])  # noqa: S104
def test_a_server_at_every_address_is_warned_of(said: list[Any], host: str) -> None:
    """TF_CONFIG names one address, and whoever reads it believes that."""
    with socket.create_server(("", 0)) as server:
        port = server.getsockname()[1]
        warn_of_listeners(Cluster(("10.0.0.1:1", f"{host}:{port}"), rank=1))
    (line,) = said
    assert (f"every address, port {port}", f"{host}:{port}") == (line["listens"], line["told"])


@pytest.mark.parametrize("told", ["127.0.0.1", "localhost", "[::1]", "a..name"])
def test_a_server_at_its_own_address_is_not(said: list[Any], told: str) -> None:
    """Whatever that is called."""
    with socket.create_server(("127.0.0.1", 0)):
        warn_of_listeners(Cluster((f"{told}:1", "other:1")))
    assert [] == said


def test_a_port_that_is_taken_is_named(forkserver: ForkServer, tmp_path: Path) -> None:
    """At another address, too: TensorFlow listens at all of them. It is no bug, and may pass."""
    made = make_shards(tmp_path, records={"train": 16}, lanes=2)
    with socket.create_server(("127.0.0.2", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        cluster = {"cluster": {"worker": [address, "127.0.0.1:1"]}}
        told = json.dumps(cluster | {"task": {"type": "worker", "index": 0}})
        words = ("run", made.folder.path, "--model", NETWORK, "--name", "taken")
        ended = forkserver.run(*words, environment={"TF_CONFIG": told})
    assert TRY_AGAIN == ended.code, ended.err
    assert "TensorFlow cannot listen on this worker's port" in ended.err
    assert address in ended.err


@pytest.mark.slow
def test_workers_that_nobody_launched_warn_of_tensorflow(
    forkserver: ForkServer, tmp_path: Path
) -> None:
    """TF_CONFIG was set by hand: each names the port of its server."""
    made = make_shards(tmp_path, records={"train": 16}, lanes=2)
    words = ("run", made.folder.path, "--model", NETWORK, "--batch-size", "8", "--epochs", "1")
    for ended in forkserver.gang(2, *words):
        assert 0 == ended.code, ended.err
        assert "TensorFlow listens on an address that TF_CONFIG does not name" in ended.err
        told = re.search(r"told=127\.0\.0\.1:(\d+)", ended.err)
        assert told is not None, ended.err
        assert f"every address, port {told[1]}" in ended.err
