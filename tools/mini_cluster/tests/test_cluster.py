"""The real daemons: they come up, work together, survive what is done to them, and go."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from audioloom_mini_cluster.client import GIVEN, running

# They start a cluster of their own; that one works, the short form of other projects shows too.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def process() -> Iterator[subprocess.Popen[str]]:
    words = [sys.executable, "-m", "audioloom_mini_cluster", "--memory-mb", "1024"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(words, text=True, **pipes) as process:
        yield process
        assert process.stdin
        process.stdin.close()
        assert 0 == process.wait(timeout=60)


@pytest.fixture(scope="module")
def answer(process: subprocess.Popen[str]) -> Callable[[str], dict[str, Any]]:
    def ask(line: str) -> dict[str, Any]:
        assert process.stdin
        assert process.stdout
        if line:
            process.stdin.write(line + "\n")
            process.stdin.flush()
        return dict(json.loads(process.stdout.readline()))

    return ask


@pytest.fixture(scope="module")
def cluster(answer: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
    return answer("")


def run(cluster: dict[str, Any], *words: str) -> str:
    environment = {**os.environ, **cluster["environment"]}
    program = Path(cluster["environment"]["PATH"], words[0])
    ran = subprocess.run(
        [program, *words[1:]], capture_output=True, text=True, check=False, env=environment
    )
    assert 0 == ran.returncode, ran.stderr
    return ran.stdout


def test_a_file_is_written_to_the_datanodes(cluster: dict[str, Any], tmp_path: Path) -> None:
    """By the real client, and read through the logical name too."""
    (tmp_path / "file").write_text("hello")
    run(cluster, "hdfs", "dfs", "-put", str(tmp_path / "file"), "/file")
    assert "hello" == run(cluster, "hdfs", "dfs", "-cat", "hdfs://mini/file")


def test_the_nodes_offer_what_was_said(cluster: dict[str, Any]) -> None:
    """Two nodes at addresses of their own, with GPUs."""
    with urllib.request.urlopen(cluster["pages"]["yarn"] + "/ws/v1/cluster/nodes") as reply:  # noqa: S310
        nodes = json.load(reply)["nodes"]["node"]
    assert cluster["nodes"] == sorted(node["nodeHostName"] for node in nodes)
    assert [1024, 1024] == [node["availMemoryMB"] for node in nodes]
    assert [2, 2] == [gpus_of(node["totalResource"]) for node in nodes]


def test_nodes_offer_less_memory_for_a_while(cluster: dict[str, Any], tmp_path: Path) -> None:
    """Scheduler and nodes know the smaller offer in the block, and the earlier one after it.

    A node that is frozen before it knows would come back with the smaller one.
    """
    (tmp_path / "line").write_text(json.dumps(cluster))

    def offers() -> list[tuple[int, int, int]]:
        return [
            (each["availMemoryMB"], own_memory(each), gpus_of(each["availableResource"]))
            for each in found.ask("/ws/v1/cluster/nodes")["nodes"]["node"]
        ]

    def own_memory(node: dict[str, Any]) -> int:
        page = f"http://{node['nodeHTTPAddress']}/ws/v1/node/info"
        with urllib.request.urlopen(page) as reply:  # noqa: S310
            return int(json.load(reply)["nodeInfo"]["totalPmemAllocatedContainersMB"])

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(GIVEN, str(tmp_path / "line"))
        with running() as found:
            with found.with_memory(512):
                assert [(512, 512, 2)] * 2 == offers()
            assert [(1024, 1024, 2)] * 2 == offers()


def gpus_of(resource: dict[str, Any]) -> int:
    """The GPUs in an amount of resources."""
    each = resource["resourceInformations"]["resourceInformation"]
    return int(next(one["value"] for one in each if one["name"] == "yarn.io/gpu"))


def test_skein_finds_its_class_path(cluster: dict[str, Any]) -> None:
    """It asks `yarn classpath --glob`."""
    entries = run(cluster, "yarn", "classpath", "--glob").strip().split(":")
    assert cluster["conf"] == entries[0]
    assert all(Path(entry).is_file() for entry in entries[1:])


@pytest.mark.usefixtures("cluster")
def test_what_it_does_not_understand_it_says(answer: Callable[[str], dict[str, Any]]) -> None:
    """And goes on."""
    assert "kill NAME" in answer("destroy everything now")["error"]
    assert "datanode-2" in answer("kill datanode-9")["error"]
    assert "is running" in answer("start datanode-1")["error"]
    assert "datanode-2" in answer("stop datanode-9")["error"]


def test_a_killed_daemon_can_be_started_again(
    cluster: dict[str, Any], answer: Callable[[str], dict[str, Any]], tmp_path: Path
) -> None:
    """With the data it had."""
    (tmp_path / "kept").write_text("hello")
    run(cluster, "hdfs", "dfs", "-put", str(tmp_path / "kept"), "/kept")
    assert "kill datanode-1" == answer("kill datanode-1")["done"]
    assert "start datanode-1" == answer("start datanode-1")["done"]
    assert "kill namenode" == answer("kill namenode")["done"]
    assert "start namenode" == answer("start namenode")["done"]
    assert "hello" == run(cluster, "hdfs", "dfs", "-cat", "/kept")


@pytest.mark.usefixtures("cluster")
def test_a_frozen_daemon_goes_on(answer: Callable[[str], dict[str, Any]]) -> None:
    """The same process; while it is frozen nobody waits for it."""
    frozen = answer("stop nodemanager-1")["pid"]
    for _ in range(500):  # a signal is on its way when the call that sent it returns
        if (state := Path(f"/proc/{frozen}/stat").read_text().rpartition(")")[2].split()[0]) == "T":
            break
        time.sleep(0.02)
    assert "T" == state
    assert "kill nodemanager-2" == answer("kill nodemanager-2")["done"]
    assert "does not run" in answer("stop nodemanager-2")["error"]
    assert "cont nodemanager-1" == answer("cont nodemanager-1")["done"]
    assert frozen != answer("start nodemanager-2")["pid"]


def test_nothing_is_left(process: subprocess.Popen[str], cluster: dict[str, Any]) -> None:
    """No daemon, no folder and no unpacked page, once the input has ended."""
    daemons = [Path("/proc", str(number)) for number in cluster["daemons"].values()]
    assert process.stdin
    process.stdin.close()
    assert 0 == process.wait(timeout=60)
    assert [] == [each for each in daemons if each.exists()]
    assert not Path(cluster["folder"]).exists()
    pages = Path(tempfile.gettempdir()).glob("jetty-*")
    ports = {urlsplit(page).port for page in cluster["pages"].values()}
    assert [] == [page for page in pages if any(f"-{port}-" in page.name for port in ports)]
