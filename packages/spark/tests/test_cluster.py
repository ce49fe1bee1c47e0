"""A cluster's configuration is read as Hadoop reads it; what does not answer is told at once."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from audioloom_spark.cluster import check_answers, local_address, read_conf
from audioloom_stage.errors import BadConfiguration, ServiceDown


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
    with pytest.raises(BadConfiguration, match="HADOOP_CONF_DIR"):
        read_conf({})


@pytest.mark.parametrize("made", [False, True])
def test_a_folder_without_yarn_is_told(tmp_path: Path, made: bool) -> None:
    """Missing, or without yarn-site.xml."""
    folder = tmp_path / "conf"
    if made:
        folder.mkdir()
    with pytest.raises(BadConfiguration, match=r"yarn-site\.xml"):
        read_conf({"HADOOP_CONF_DIR": str(folder)})


def test_a_broken_file_is_told(tmp_path: Path) -> None:
    """By name."""
    (tmp_path / "yarn-site.xml").write_text("<configuration>")
    with pytest.raises(BadConfiguration, match=r"yarn-site\.xml"):
        read_conf({"HADOOP_CONF_DIR": str(tmp_path)})


def test_nobody_listens_is_told() -> None:
    """All addresses that were tried are named."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens
        port = taken.getsockname()[1]
        with pytest.raises(ServiceDown, match=f"127.0.0.1:{port}") as caught:
            check_answers("ResourceManager", [("127.0.0.1", port)], "yarn.resourcemanager.address")
    assert "yarn.resourcemanager.address" in str(caught.value)


def test_one_that_listens_is_enough() -> None:
    """Of two ResourceManagers one may be down."""
    with socket.socket() as down, socket.create_server(("127.0.0.1", 0)) as up:
        down.bind(("127.0.0.1", 0))
        check_answers("ResourceManager", [down.getsockname(), up.getsockname()], "x")


def test_what_yarn_conf_dir_names_counts(tmp_path: Path) -> None:
    """Alone, or over what HADOOP_CONF_DIR names, as Spark has it."""
    one = conf(tmp_path / "one", a="one", b="one")["HADOOP_CONF_DIR"]
    two = conf(tmp_path / "two", b="two")["HADOOP_CONF_DIR"]
    assert "one" == read_conf({"YARN_CONF_DIR": one}).value("b")
    both = read_conf({"HADOOP_CONF_DIR": one, "YARN_CONF_DIR": two})
    assert ("one", "two") == (both.value("a"), both.value("b"))


def test_local_address_is_that_of_the_route() -> None:
    """Whoever is reached over the loopback reaches us there."""
    assert "127.0.0.1" == local_address([("127.0.0.2", 8032)])
