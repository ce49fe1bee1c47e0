"""No server of TensorFlow is reached from outside the gang at another than the recorded address."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from audioloom_quickstart.programs import Programs
from verdict import refused

PATIENCE_S = 300
Servers = tuple[str, list[tuple[str, int]]]
"""How the gang was started, and what its record says."""
SERVER = """
import os, pathlib, sys, time
import tensorflow as tf
tf.distribute.MultiWorkerMirroredStrategy()
folder = pathlib.Path(sys.argv[1])
(folder / os.environ["TASK_INDEX"]).touch()
while not (folder / "go").exists():
    time.sleep(0.1)
"""
WAYS = {
    "the address of the README": (),
    "another address": ("--advertise", "127.0.0.7"),
    "a name": ("--advertise", "localhost"),
}


@pytest.fixture(params=WAYS)
def gang(programs: Programs, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Servers]:
    """The installed launcher's, with the trainer's TensorFlow; they end when the test has."""
    python = str(Path(programs.paths["trainer"]).with_name("python"))
    root, messages = tmp_path / "root", tmp_path / "messages"
    command = ["run", "--workers", "2", "--name", "run", "--root", str(root), *WAYS[request.param]]
    command += ["--max-restarts", "0", "--", python, "-c", SERVER, str(tmp_path)]
    with messages.open("wb") as said:
        process = subprocess.Popen(
            [programs.paths["yarn-launcher"], *command], stdout=subprocess.DEVNULL, stderr=said
        )
    try:
        deadline = time.monotonic() + PATIENCE_S
        while not all((tmp_path / rank).exists() for rank in "01"):
            assert process.poll() is None, messages.read_text()
            assert time.monotonic() < deadline, "the servers never came up"
            time.sleep(0.1)
        members = json.loads((root / "runs/run/attempts/1.members.json").read_text())
        told = [seat["address"].rpartition(":") for seat in members["workers"]]
        yield request.param, [(host, int(port)) for host, _, port in told]
    finally:
        (tmp_path / "go").touch()
        assert process.wait(PATIENCE_S) == 0, messages.read_text()


def answers(host: str, port: int) -> bool:
    """Whether a server takes a connection there."""
    try:
        socket.create_connection((host, port), timeout=5).close()
    except OSError:
        return False
    return True


def own_addresses() -> set[str]:
    """Of this machine, by which others could reach it; and two of its loopback."""
    found = set()
    with suppress(OSError):
        found = {str(row[4][0]) for row in socket.getaddrinfo(socket.gethostname(), None)}
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as route:
        route.connect(("192.0.2.1", 9))  # nothing is sent: it is only looked for the way
        found.add(str(route.getsockname()[0]))
    return {*found, "127.0.0.1", "127.0.0.3", "::1"}


def test_tensorflow_is_reached_at_the_recorded_address_alone(gang: Servers) -> None:
    """There it answers, so that the attack is known to have been tried; nowhere else."""
    way, servers = gang
    for host, port in servers:
        told = {str(row[4][0]) for row in socket.getaddrinfo(host, None)}
        for address in sorted(own_addresses() - told):
            held = not answers(address, port) and answers(host, port)
            refused(f"TensorFlow at {address}, told {way} ({host})", held=held)
