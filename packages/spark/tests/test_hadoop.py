"""A cluster's configuration is read as Hadoop reads it; what does not answer is told at once."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from audioloom_spark.errors import ClusterDown, NoCluster
from audioloom_spark.hadoop import (
    check_answers,
    local_address,
    name_nodes,
    read_conf,
    resource_managers,
)


def conf(folder: Path, name: str = "yarn-site.xml", **properties: str) -> dict[str, str]:
    rows = "".join(
        f"<property><name>{key.replace('_', '.')}</name><value>{value}</value></property>"
        for key, value in properties.items()
    )
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"<configuration>{rows}</configuration>")
    return {"HADOOP_CONF_DIR": str(folder)}


def test_no_variable_is_told() -> None:
    """The message names the variable and what it should be."""
    with pytest.raises(NoCluster, match="HADOOP_CONF_DIR"):
        read_conf({})


@pytest.mark.parametrize("made", [False, True])
def test_a_folder_without_yarn_is_told(tmp_path: Path, made: bool) -> None:
    """Missing, or without yarn-site.xml."""
    folder = tmp_path / "conf"
    if made:
        folder.mkdir()
    with pytest.raises(NoCluster, match=r"yarn-site\.xml"):
        read_conf({"HADOOP_CONF_DIR": str(folder)})


def test_a_broken_file_is_told(tmp_path: Path) -> None:
    """By name."""
    (tmp_path / "yarn-site.xml").write_text("<configuration>")
    with pytest.raises(NoCluster, match=r"yarn-site\.xml"):
        read_conf({"HADOOP_CONF_DIR": str(tmp_path)})


def test_nobody_listens_is_told() -> None:
    """All addresses that were tried are named."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens
        port = taken.getsockname()[1]
        with pytest.raises(ClusterDown, match=f"127.0.0.1:{port}") as caught:
            check_answers("ResourceManager", [("127.0.0.1", port)], "yarn.resourcemanager.address")
    assert "yarn.resourcemanager.address" in str(caught.value)


def test_one_that_listens_is_enough() -> None:
    """Of two ResourceManagers one may be down."""
    with socket.socket() as down, socket.create_server(("127.0.0.1", 0)) as up:
        down.bind(("127.0.0.1", 0))
        check_answers("ResourceManager", [down.getsockname(), up.getsockname()], "x")


def test_references_are_filled_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To other properties and to variables; what leads nowhere or in circles stays."""
    monkeypatch.setenv("PORT_OF_TEST", "8111")
    given = {"a": "${b}:${env.PORT_OF_TEST}", "b": "host", "c": "${c}", "d": "${nothing}"}
    found = read_conf(conf(tmp_path, **given))
    assert {"a": "host:8111", "b": "host", "c": "${c}", "d": "${nothing}"} == found


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({}, [("localhost", 8032)]),
        ({"yarn.resourcemanager.hostname": "rm"}, [("rm", 8032)]),
        ({"yarn.resourcemanager.address": "rm:99"}, [("rm", 99)]),
        (
            {
                "yarn.resourcemanager.ha.enabled": "true",
                "yarn.resourcemanager.ha.rm-ids": "rm1, rm2",
                "yarn.resourcemanager.hostname.rm1": "one",
                "yarn.resourcemanager.address.rm2": "two:99",
            },
            [("one", 8032), ("two", 99)],
        ),
    ],
)
def test_resource_managers(properties: dict[str, str], expected: list[tuple[str, int]]) -> None:
    """One, or those of a cluster with several."""
    assert expected == resource_managers(properties)


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({"fs.defaultFS": "file:///"}, []),
        ({"fs.defaultFS": "hdfs://nn"}, [("nn", 8020)]),
        ({"fs.defaultFS": "hdfs://nn:99/"}, [("nn", 99)]),
        (
            {
                "fs.defaultFS": "hdfs://both",
                "dfs.nameservices": "both",
                "dfs.ha.namenodes.both": "one,two",
                "dfs.namenode.rpc-address.both.one": "nn1:99",
                "dfs.namenode.rpc-address.both.two": "nn2",
            },
            [("nn1", 99), ("nn2", 8020)],
        ),
    ],
)
def test_name_nodes(properties: dict[str, str], expected: list[tuple[str, int]]) -> None:
    """One, or those of a name service; none where the default is no HDFS."""
    assert expected == name_nodes(properties)


def test_local_address_is_that_of_the_route() -> None:
    """Whoever is reached over the loopback reaches us there."""
    assert "127.0.0.1" == local_address([("127.0.0.2", 8032)])
