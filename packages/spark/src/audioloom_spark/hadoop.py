"""The cluster that HADOOP_CONF_DIR describes: whether it answers, and from where it is reached.

Looked at before Spark is, whose client tries for minutes what fails here in seconds.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from xml.etree import ElementTree as ET

from audioloom_spark.errors import ClusterDown, NoCluster

__all__ = ["check_answers", "local_address", "name_nodes", "read_conf", "resource_managers"]

_FILES = ("core-site.xml", "hdfs-site.xml", "yarn-site.xml")
_VARIABLES = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")
_REFERENCE = re.compile(r"\$\{([^{}$\s]+)\}")
_MOST_REFERENCES = 20
_SECONDS = 5.0

Address = tuple[str, int]


def read_conf(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The properties of a cluster's configuration, with references filled in.

    Raises:
        NoCluster: neither HADOOP_CONF_DIR nor YARN_CONF_DIR leads to one.
    """
    named = [(name, environment[name]) for name in _VARIABLES if environment.get(name)]
    if not named:
        raise NoCluster(
            "Spark does not know the cluster.",
            expected="HADOOP_CONF_DIR, the folder that holds yarn-site.xml and core-site.xml",
            found="no such variable",
            hint="On a machine of the cluster it is often /etc/hadoop/conf.",
        )
    properties: dict[str, str] = {}
    for name in _FILES:
        for _, folder in named:
            properties.update(_properties(Path(folder, name)))
    variable, folder = named[0]
    if not any(Path(each, "yarn-site.xml").is_file() for _, each in named):
        raise NoCluster(
            "Spark does not know the cluster.",
            where=f"{variable}={folder}",
            expected="yarn-site.xml in it",
            found="none" if Path(folder).is_dir() else "no such folder",
        )
    return {name: _filled(value, properties) for name, value in properties.items()}


def resource_managers(conf: Mapping[str, str]) -> list[Address]:
    """Where a ResourceManager listens for clients: one, or several of which one is active."""
    start = "yarn.resourcemanager."
    ids = _words(conf.get(start + "ha.rm-ids", ""))
    if conf.get(start + "ha.enabled", "").lower() == "true" and ids:
        return [_manager(conf, "." + each) for each in ids]
    return [_manager(conf, "")]


def _manager(conf: Mapping[str, str], end: str) -> Address:
    start = "yarn.resourcemanager."
    address = conf.get(start + "address" + end)
    host = conf.get(start + "hostname" + end) or conf.get(start + "hostname") or "localhost"
    return _address(address or host, 8032)


def name_nodes(conf: Mapping[str, str]) -> list[Address]:
    """Where the NameNodes of the default file system listen; none where it is no HDFS."""
    default = re.fullmatch(r"hdfs://([^/]+)/?.*", conf.get("fs.defaultFS", ""))
    if default is None:
        return []
    service = default[1]
    ids = _words(conf.get(f"dfs.ha.namenodes.{service}", ""))
    if service not in _words(conf.get("dfs.nameservices", "")) or not ids:
        return [_address(service, 8020)]
    start = f"dfs.namenode.rpc-address.{service}."
    return [_address(conf[start + each], 8020) for each in ids if start + each in conf]


def check_answers(what: str, addresses: list[Address], setting: str) -> None:
    """See that one of these addresses accepts a connection.

    Raises:
        ClusterDown: none does, within seconds.
    """
    failed = []
    for host, port in addresses:
        try:
            with socket.create_connection((host, port), timeout=_SECONDS):
                return
        except OSError as error:
            failed.append(f"{host}:{port} ({error.strerror or error})")
    if failed:
        raise ClusterDown(
            f"No {what} answers.",
            found=", ".join(failed),
            hint=f"See that it runs, and that {setting} in HADOOP_CONF_DIR is right.",
        )


def local_address(addresses: list[Address]) -> str:
    """The address of this machine from which the first reachable of these is reached."""
    for host, port in addresses:
        with (
            suppress(OSError),
            # Nothing is sent: connecting a datagram socket only asks for the route.
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe,
        ):
            probe.connect((host, port))
            return str(probe.getsockname()[0])
    return socket.gethostbyname(socket.gethostname())


def _properties(path: Path) -> Iterator[tuple[str, str]]:
    try:
        root = ET.parse(path).getroot()  # noqa: S314 - the administrators' own file
    except FileNotFoundError:
        return
    except (OSError, ET.ParseError) as error:
        raise NoCluster("This file cannot be read.", where=path, found=error) from error
    for element in root.iter("property"):
        name, value = element.findtext("name"), element.findtext("value")
        if name and value is not None:
            yield name.strip(), value.strip()


def _filled(value: str, properties: Mapping[str, str]) -> str:
    for _ in range(_MOST_REFERENCES):
        match = _REFERENCE.search(value)
        if match is None:
            break
        name = match[1]
        given = os.environ.get(name.removeprefix("env.")) if name.startswith("env.") else None
        found = given if given is not None else properties.get(name)
        if found is None:
            break
        value = value[: match.start()] + found + value[match.end() :]
    return value


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _address(text: str, port: int) -> Address:
    host, colon, number = text.rpartition(":")
    return (host, int(number)) if colon and number.isdigit() else (text, port)
