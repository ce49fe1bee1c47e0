"""Spark on a real YARN: tasks that need nothing of a node but Java."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from audioloom_mini_cluster.client import Running
from audioloom_spark.locality import block_hosts
from audioloom_spark.settings import SparkSettings
from audioloom_spark.units import run_units
from audioloom_spark.yarn import bind_address
from audioloom_storage import Location, list_folder, locate, publish
from pyspark.sql import SparkSession
from structlog.testing import capture_logs

pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket.socket:ResourceWarning")

# What executors may use of their node beside the C library: nothing.
SYSTEM = ("ld-linux", "libc.", "libm.", "libdl.", "librt.", "libpthread.", "libgcc_s.", "libutil.")


@pytest.mark.slow
def test_executors_run_what_was_shipped(
    on_yarn: SparkSession, shipped: Location, yarn: SparkSettings, cluster: Running
) -> None:
    """Interpreter, modules and libraries lie in the containers; what they were made of is gone."""

    def look(_: int) -> dict[str, object]:
        import os

        import audioloom_storage
        import pydantic_core

        lines = Path("/proc/self/maps").read_text().splitlines()
        return {
            "node": os.environ["NM_HOST"],
            "executable": [sys.executable, os.path.realpath(sys.executable)],
            "modules": [audioloom_storage.__file__, pydantic_core.__file__, os.__file__],
            "mapped": sorted({line.split(None, 5)[5] for line in lines if ".so" in line}),
        }

    archives = [entry.location.name for entry in list_folder(locate(str(yarn.environments)))]
    assert [shipped.name] == [name for name in archives if name.endswith(".tar.gz")]
    for found in run_units(on_yarn, range(4), look):
        assert found["node"] in cluster.nodes
        number = cluster.nodes.index(found["node"]) + 1
        inside = f"{cluster.folder}/node-{number}/local/"
        assert found["executable"][0].endswith("/environment/bin/python")
        for path in (*found["executable"], *found["modules"]):
            assert path.startswith(inside)
        outside = [path for path in found["mapped"] if not path.startswith(inside)]
        assert [] == [path for path in outside if not Path(path).name.startswith(SYSTEM)]


@pytest.mark.slow
def test_workers_start_without_their_folder_on_the_path(on_yarn: SparkSession) -> None:
    """As on one machine; Spark adds the container's folder afterwards, where nobody else writes."""
    assert [True] == list(run_units(on_yarn, [0], lambda _: bool(sys.flags.safe_path)))


@pytest.mark.slow
def test_the_path_of_workers_has_no_empty_entry(on_yarn: SparkSession) -> None:
    """It would be the container's folder, for all programs that a worker starts."""

    def path(_: int) -> list[str]:
        import os

        return [*os.environ["PYTHONPATH"].split(os.pathsep), *sys.path]

    (found,) = run_units(on_yarn, [0], path)
    assert not {"", "."} & set(found)


@pytest.mark.slow
def test_tasks_know_the_cluster(on_yarn: SparkSession, cluster: Running) -> None:
    """They read HDFS, also by a name that only the cluster's configuration knows."""
    publish(locate(cluster.base) / "words", b"hello")
    named = f"hdfs://mini{cluster.base.removeprefix(cluster.hdfs)}/words"

    def read(_: int) -> bytes:
        from audioloom_storage import read_bytes

        return read_bytes(locate(named), limit=100)

    assert [b"hello"] == list(run_units(on_yarn, [0], read))


@pytest.mark.slow
def test_units_run_where_they_had_better(on_yarn: SparkSession, cluster: Running) -> None:
    """Each on the node that is named for it, and the count says so."""
    nodes = cluster.nodes

    def node(unit: int) -> tuple[int, str]:
        import os

        return unit, os.environ["NM_HOST"]

    hosts: Sequence[Sequence[str]] = [(nodes[unit % 2],) for unit in range(6)]
    counts: dict[str, int] = {}
    done = sorted(run_units(on_yarn, range(6), node, hosts=hosts, counts=counts))
    assert [(unit, nodes[unit % 2]) for unit in range(6)] == done
    assert {"units_placed": 6, "units_local": 6} == counts


@pytest.mark.slow
def test_hosts_of_blocks(on_yarn: SparkSession, cluster: Running) -> None:
    """HDFS names the nodes as YARN does; what has no blocks there, or is gone, has no host."""
    publish(locate(cluster.base) / "blocks 100%", bytes(5000))
    inputs = [
        [locate(cluster.base) / "blocks 100%", locate(cluster.base) / "nothing"],
        [locate(cluster.base) / "nothing"],
        [locate("/etc/hostname")],
        [],
    ]
    both = tuple(cluster.nodes)
    assert [both, (), (), ()] == block_hosts(on_yarn, inputs)


@pytest.mark.parametrize(("address", "bound"), [("240.0.0.1", "0.0.0.0"), ("127.0.0.5", None)])  # noqa: S104
def test_a_driver_that_listens_everywhere_is_warned_of(address: str, bound: str | None) -> None:
    """Behind NAT there is no other way; at an address of its own there is nothing to say."""
    with capture_logs() as said:
        assert (bound or address) == bind_address(address)
    warned = [line["driver_address"] for line in said if line["log_level"] == "warning"]
    assert ([address] if bound else []) == warned
