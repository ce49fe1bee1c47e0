"""Two workers with a cable between them, which is pulled: namespaces of the kernel, as root."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from audioloom_mini_cluster.faults import until
from audioloom_runs.progress import read_progress
from audioloom_storage import Location, locate
from shard_maker import make_shards
from trainer_workers import NETWORK

pytestmark = pytest.mark.slow

TRY_AGAIN = 75
PROGRAM = str(Path(sys.executable).with_name("audioloom-trainer"))
ADDRESSES = ("10.231.0.1", "10.231.0.2")
PORT = 23456


@pytest.fixture
def machines() -> Iterator[list[str]]:
    """The names of two networks that reach each other, and nothing else."""
    names = [f"audioloom-{os.getpid()}-{number}" for number in range(2)]
    ends = [f"al{os.getpid()}.{number}" for number in range(2)]
    with ExitStack() as stack:
        try:
            for name in names:
                ip("netns", "add", name)
                stack.callback(ip, "netns", "delete", name)
            both = (ends[0], "netns", names[0], "type", "veth", "peer", "name", ends[1])
            ip("link", "add", *both, "netns", names[1])
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("no network of our own can be made here")
        for name, end, address in zip(names, ends, ADDRESSES, strict=True):
            ip("-n", name, "address", "add", f"{address}/24", "dev", end)
            ip("-n", name, "link", "set", "lo", "up")
            ip("-n", name, "link", "set", end, "up")
        yield names


def ip(*words: str) -> None:
    """Call the program of that name."""
    command = ["ip", *words]
    subprocess.run(command, check=True, capture_output=True)


def pull_the_cable(machine: str) -> None:
    """For both of them: no packet arrives any more, and nobody is told."""
    ip("-n", machine, "link", "set", f"al{os.getpid()}.0", "down")


def test_workers_whose_network_is_gone_name_each_other(machines: list[str], tmp_path: Path) -> None:
    """Both end, to be started again; each has lost the other."""
    made = make_shards(tmp_path, records={"train": 61}, lanes=6)
    words = ["run", made.folder.path, "--model", NETWORK, "--batch-size", "8", "--name", "cut"]
    words += ["--epochs", "1000000"]
    workers = [f"{address}:{PORT}" for address in ADDRESSES]
    files = [locate(tmp_path / "runs" / "cut" / "progress" / f"{rank}.jsonl") for rank in (0, 1)]
    with ExitStack() as stack:
        processes = []
        for rank, machine in enumerate(machines):
            task = {"cluster": {"worker": workers}, "task": {"type": "worker", "index": rank}}
            command = ["ip", "netns", "exec", machine, PROGRAM, *words]
            log = stack.enter_context((tmp_path / f"{rank}.log").open("w"))
            process = subprocess.Popen(
                command, env=os.environ | {"TF_CONFIG": json.dumps(task)}, stdout=log, stderr=log
            )
            processes.append(stack.enter_context(process))
            stack.callback(process.kill)
        until(lambda: all(_epochs(file) for file in files), "the first epoch", 120)
        pull_the_cable(machines[0])
        began = time.monotonic()
        for rank, process in enumerate(processes):
            code = process.wait(120)
            assert TRY_AGAIN == code, (tmp_path / f"{rank}.log").read_text()
            print(f"worker {rank}: {time.monotonic() - began:.1f} s")  # noqa: T201  (with -rP)
    for rank, file in enumerate(files):
        (failed,) = (line for line in read_progress(file) if line["event"] == "failed")
        assert "PeerLost" == failed["error"]
        assert ([workers[1 - rank]], [1 - rank]) == (failed["peers"], failed["peer_ranks"])


def _epochs(file: Location) -> int:
    return sum(line["event"] == "epoch" for line in read_progress(file))
