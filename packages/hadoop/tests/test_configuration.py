"""A cluster's configuration is read as Hadoop reads it."""

from __future__ import annotations

import pickle
import socket
from pathlib import Path

import pytest
from audioloom_hadoop.configuration import (
    Hadoop,
    NotConfigured,
    find_hadoop,
    of_clients,
    read_properties,
    unreachable,
)

RM = "yarn.resourcemanager."


def write(folder: Path, name: str, **properties: str) -> dict[str, str]:
    """A file of these properties, `_` for `.`; the environment that names its folder."""
    rows = "".join(
        f"<property><name>{key.replace('_', '.')}</name><value>{value}</value></property>"
        for key, value in properties.items()
    )
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"<configuration>{rows}</configuration>")
    return {"HADOOP_CONF_DIR": str(folder)}


def of(properties: dict[str, str]) -> Hadoop:
    return Hadoop(Path("/conf"), properties)


@pytest.mark.parametrize("environment", [{}, {"HADOOP_CONF_DIR": ""}])
def test_no_variable_is_told(environment: dict[str, str]) -> None:
    """Its name, what it should be, and what to do."""
    with pytest.raises(NotConfigured, match=r"HADOOP_CONF_DIR is not set.*core-site\.xml.*export"):
        find_hadoop(environment)


@pytest.mark.parametrize(("made", "found"), [(False, "no such folder"), (True, "a folder without")])
def test_a_folder_without_yarn_is_told(tmp_path: Path, made: bool, found: str) -> None:
    """Missing, or without yarn-site.xml."""
    folder = tmp_path / "conf"
    if made:
        write(folder, "core-site.xml")
    with pytest.raises(NotConfigured, match=f"{found}.*yarn-site") as caught:
        find_hadoop({"HADOOP_CONF_DIR": str(folder)})
    assert f"HADOOP_CONF_DIR={folder}" == caught.value.where


@pytest.mark.parametrize("text", [b"<configuration>", b"\xff\xfe\x00", b""])
def test_a_broken_file_is_told(tmp_path: Path, text: bytes) -> None:
    """By name, with what is wrong in it; also where another file holds what was asked for."""
    environment = write(tmp_path, "yarn-site.xml")
    (tmp_path / "core-site.xml").write_bytes(text)
    with pytest.raises(NotConfigured, match=r"cannot be read: .+") as caught:
        find_hadoop(environment)
    assert str(tmp_path / "core-site.xml") == caught.value.where


def test_a_file_that_is_none_is_told(tmp_path: Path) -> None:
    """A folder stands in its place."""
    (tmp_path / "core-site.xml").mkdir()
    with pytest.raises(NotConfigured, match=r"core-site\.xml.*directory"):
        read_properties(tmp_path / "core-site.xml")


def test_later_files_count_more(tmp_path: Path) -> None:
    """And those of the variable that is named last."""
    one = write(tmp_path / "one", "yarn-site.xml", a="yarn", b=" yarn ")
    write(tmp_path / "one", "core-site.xml", a="core", c="core", d="")
    two = write(tmp_path / "two", "yarn-site.xml", b="two")
    assert {"a": "yarn", "b": "yarn", "c": "core", "d": ""} == find_hadoop(one).properties
    environment = one | {"YARN_CONF_DIR": two["HADOOP_CONF_DIR"]}
    found = find_hadoop(environment, variables=("HADOOP_CONF_DIR", "YARN_CONF_DIR"))
    assert "two" == found.value("b")
    assert tmp_path / "one" == found.conf


def test_a_final_property_stays(tmp_path: Path) -> None:
    """Whatever stands behind it, in its own file, in another one or in another folder."""
    one, two = tmp_path / "one", tmp_path / "two"
    write(one, "yarn-site.xml", a="yarn", b="yarn", c="yarn")
    write(two, "core-site.xml", a="two", b="two", c="two")
    (one / "core-site.xml").write_text(
        "<configuration>"
        "<property><name>a</name><value>kept</value><final> true </final></property>"
        '<property name="b" value="kept" final="true"/><property name="b" value="later"/>'
        "<property><name>c</name><value>open</value><final>false</final></property>"
        "</configuration>"
    )
    environment = {"HADOOP_CONF_DIR": str(one), "YARN_CONF_DIR": str(two)}
    found = find_hadoop(environment, variables=tuple(environment))
    assert {"a": "kept", "b": "kept", "c": "yarn"} == found.properties


def test_a_property_may_stand_in_attributes(tmp_path: Path) -> None:
    """As Hadoop 3 allows; an element counts more, as there."""
    file = tmp_path / "core-site.xml"
    file.write_text(
        '<configuration><property name=" a " value=" 1 "/><property name="empty" value=""/>'
        '<property name="b" value="1"><value>2</value></property><property name="none"/>'
        "</configuration>"
    )
    assert {"a": "1", "empty": "", "b": "2"} == read_properties(file)


def test_references_are_filled_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """To other properties, defaults and variables; what leads nowhere or in circles stays."""
    monkeypatch.setenv("PORT_OF_TEST", "8111")
    monkeypatch.setenv("EMPTY_OF_TEST", "")
    monkeypatch.delenv("NONE_OF_TEST", raising=False)
    expected = {
        "${b}:${env.PORT_OF_TEST}": "host:8111",
        "${c}/${b}": "deep host/host",
        "${yarn.http.policy}": "HTTP_ONLY",
        "${nothing}": "${nothing}",
        "${itself}": "${itself}",
        "${env.NONE_OF_TEST}": "${env.NONE_OF_TEST}",
        "${env.NONE_OF_TEST-other}": "other",
        "${env.EMPTY_OF_TEST-other}": "",
        "${env.EMPTY_OF_TEST:-other}": "other",
        "${env.PORT_OF_TEST:-other}": "8111",
    }
    for text, value in expected.items():
        rest = {"b": "host", "c": "deep ${b}", "itself": "${itself}"}
        assert value == of({"a": text, **rest}).value("a")
    assert "" == of({}).value("a")


BOTH = {
    RM + "ha.enabled": "True",
    RM + "ha.rm-ids": "rm1, rm2",
    RM + "hostname.rm1": "one",
    RM + "address.rm2": "two:99",
    RM + "webapp.address.rm1": "one:98",
    RM + "hostname.rm2": "two",
}


@pytest.mark.parametrize(
    ("properties", "managers", "pages"),
    [
        ({}, [("0.0.0.0", 8032)], ["http://0.0.0.0:8088"]),  # noqa: S104 - Hadoop's default
        ({RM + "hostname": "rm"}, [("rm", 8032)], ["http://rm:8088"]),
        ({RM + "address": "rm:99"}, [("rm", 99)], ["http://0.0.0.0:8088"]),
        (
            {RM + "hostname": "rm", "yarn.http.policy": "HTTPS_ONLY"},
            [("rm", 8032)],
            ["https://rm:8090"],
        ),
        (BOTH, [("one", 8032), ("two", 99)], ["http://one:98", "http://two:8088"]),
        (
            BOTH | {"yarn.http.policy": "HTTPS_ONLY", RM + "webapp.https.address.rm1": "a:2"},
            [("one", 8032), ("two", 99)],
            ["https://a:2", "https://two:8090"],
        ),
        (BOTH | {RM + "ha.enabled": "false", RM + "address": "a"}, [("a", 8032)], None),
        (BOTH | {RM + "ha.rm-ids": " ", RM + "address": "a"}, [("a", 8032)], None),
    ],
)
def test_resource_managers(
    properties: dict[str, str], managers: list[tuple[str, int]], pages: list[str] | None
) -> None:
    """One, or those of a cluster with several: for clients, and their pages."""
    hadoop = of(properties)
    assert tuple(managers) == hadoop.managers
    if pages is not None:
        assert tuple(pages) == hadoop.pages


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({}, []),
        ({"fs.defaultFS": "file:///"}, []),
        ({"fs.defaultFS": "hdfs://nn"}, [("nn", 8020)]),
        ({"fs.defaultFS": "hdfs://nn:99/"}, [("nn", 99)]),
        (
            {
                "fs.defaultFS": "hdfs://${dfs.nameservices}",
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
    assert tuple(expected) == of(properties).name_nodes


def test_nobody_listens_is_told() -> None:
    """All addresses that were tried are named; one that listens is enough, and none is no news."""
    with socket.socket() as down, socket.create_server(("127.0.0.1", 0)) as up:
        down.bind(("127.0.0.1", 0))  # and nobody listens
        port = down.getsockname()[1]
        told = unreachable([("127.0.0.1", port), ("no.such.host.invalid", 1), ("127.0.0.1", 1)], 3)
        assert f"127.0.0.1:{port} (Connection refused), no.such.host.invalid:1 (" in told
        assert "" == unreachable([("127.0.0.1", port), up.getsockname()], 3)
    assert "127.0.0.1:65536 (" in unreachable([("127.0.0.1", 65536)], 3)
    assert "" == unreachable([], 3)


def test_clients_read_two_files_as_they_are_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The later one counts, references are filled in, and what changes is read again."""
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    assert "" == of_clients().value("fs.defaultFS")
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    assert "" == of_clients().value("fs.defaultFS")
    write(tmp_path, "core-site.xml", fs_defaultFS="hdfs://${host}:8020", host="one")
    assert "hdfs://one:8020" == of_clients().value("fs.defaultFS")
    write(tmp_path, "hdfs-site.xml", host="another")
    write(tmp_path, "yarn-site.xml", host="third")
    assert "hdfs://another:8020" == of_clients().value("fs.defaultFS")
    (tmp_path / "hdfs-site.xml").write_text("<configuration>")
    with pytest.raises(NotConfigured, match="cannot be read"):
        of_clients()


def test_an_error_survives_pickling() -> None:
    """Errors cross processes."""
    error = NotConfigured("no", where="/a", expected="a file", hint="Make one.")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    assert "/a: no (expected a file). Make one" == str(error) == str(again)
