"""Addresses, ports and the files that say so."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

from audioloom_mini_cluster.plan import MASTER, Size, free_ports, lay_out, write_conf


def test_ports_are_different() -> None:
    """Taken together, no port comes twice."""
    assert 50 == len(set(free_ports("127.0.0.1", 50)))


def test_each_node_has_an_address_of_its_own(tmp_path: Path) -> None:
    """And its two daemons listen there alone."""
    layout = lay_out(tmp_path, tmp_path, Size(nodes=3))
    assert ("127.0.0.11", "127.0.0.12", "127.0.0.13") == layout.nodes
    names = [daemon.name for daemon in layout.daemons]
    assert ["namenode", "resourcemanager"] == names[:2]
    for number, address in enumerate(layout.nodes, start=1):
        by_name = {daemon.name: daemon.conf for daemon in layout.daemons}
        own = {
            **{
                k: v
                for k, v in by_name[f"datanode-{number}"]["hdfs-site.xml"].items()
                if "datanode" in k
            },
            **by_name[f"nodemanager-{number}"]["yarn-site.xml"],
        }
        listens = {
            str(value).rpartition(":")[0] for key, value in own.items() if key.endswith("address")
        }
        assert {address, MASTER} == listens


def test_hdfs_alone(tmp_path: Path) -> None:
    """Half the daemons, and no page of YARN's."""
    layout = lay_out(tmp_path, tmp_path, Size(nodes=1, yarn=False))
    assert ["namenode", "datanode-1"] == [daemon.name for daemon in layout.daemons]
    assert not layout.resourcemanager_page


def test_gpus_and_memory_are_what_was_asked_for(tmp_path: Path) -> None:
    """On every node."""
    layout = lay_out(tmp_path, tmp_path, Size(nodes=2, memory_mb=1024, vcores=3, gpus=5))
    for daemon in layout.daemons:
        if daemon.name.startswith("nodemanager"):
            yarn = daemon.conf["yarn-site.xml"]
            assert 1024 == yarn["yarn.nodemanager.resource.memory-mb"]
            assert 3 == yarn["yarn.nodemanager.resource.cpu-vcores"]
            assert "true" == yarn["yarn.nodemanager.pmem-check-enabled"]
            assert [5] == list(daemon.conf["node-resources.xml"].values())


def test_blocks_are_as_large_as_was_asked_for(tmp_path: Path) -> None:
    """For the NameNode and for clients, who decide."""
    layout = lay_out(tmp_path, tmp_path, Size(block_mb=128))
    confs = [layout.client, *(daemon.conf for daemon in layout.daemons)]
    found = {conf["hdfs-site.xml"]["dfs.blocksize"] for conf in confs if "hdfs-site.xml" in conf}
    assert {134217728} == found


def test_a_small_queue_never_grows(tmp_path: Path) -> None:
    """And there is none unless it is asked for."""
    root = "yarn.scheduler.capacity.root"
    found = [
        daemon.conf["capacity-scheduler.xml"]
        for percent in (0, 20)
        for daemon in lay_out(tmp_path, tmp_path, Size(small_queue=percent)).daemons
        if daemon.name == "resourcemanager"
    ]
    assert ["default", "default,small"] == [each[f"{root}.queues"] for each in found]
    assert [100, 80] == [each[f"{root}.default.capacity"] for each in found]
    assert 20 == found[1][f"{root}.small.capacity"] == found[1][f"{root}.small.maximum-capacity"]


def test_the_files_say_what_was_planned(tmp_path: Path) -> None:
    """Also what XML would take for its own."""
    write_conf(tmp_path / "conf", {"core-site.xml": {"a": "<&>", "b": 1}})
    found = ET.parse(tmp_path / "conf" / "core-site.xml")  # noqa: S314 - our own
    assert {"a": "<&>", "b": "1"} == {
        one.findtext("name"): one.findtext("value") for one in found.iter("property")
    }
