"""Read the configuration of the Hadoop cluster that HADOOP_CONF_DIR names, as Hadoop reads it.

Clients of HDFS use it, and programs that check YARN in seconds before YARN's own tools fail after
minutes.
"""

import os
import re
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from pathlib import Path
from xml.etree import ElementTree as ET

FILES = ("core-site.xml", "hdfs-site.xml", "yarn-site.xml")
_REFERENCE = re.compile(r"\$\{([^{}$\s]+)\}")
_OF_ENVIRONMENT = re.compile(r"env\.(\w+)(?:(:?-)(.*))?")
_MOST_REFERENCES = 20  # as in Hadoop
_RM = "yarn.resourcemanager."

# Hadoop's defaults of the properties that are read here.
_DEFAULTS = {
    _RM + "hostname": "0.0.0.0",  # noqa: S104 - never right, but for a cluster of one machine
    _RM + "address": "${yarn.resourcemanager.hostname}:8032",
    _RM + "webapp.address": "${yarn.resourcemanager.hostname}:8088",
    _RM + "webapp.https.address": "${yarn.resourcemanager.hostname}:8090",
    "yarn.http.policy": "HTTP_ONLY",
}

Address = tuple[str, int]
"""Host and port."""

_Property = tuple[str, str, bool]  # name, value, and whether it is final


class NotConfigured(Exception):
    """The cluster's configuration is missing, or its files cannot be read."""

    def __init__(
        self, found: str, *, where: object = "", expected: str = "", hint: str = ""
    ) -> None:
        super().__init__(found)
        self.found, self.where, self.expected, self.hint = found, str(where), expected, hint

    def __str__(self) -> str:
        where = f"{self.where}: " if self.where else ""
        return f"{where}{self.found} (expected {self.expected}). {self.hint}".rstrip(" .")


@dataclass(frozen=True)
class Hadoop:
    """A cluster's configuration, as its clients have it: a folder and unexpanded properties."""

    conf: Path
    properties: Mapping[str, str] = field(repr=False)

    def value(self, name: str) -> str:
        """Return a property or its default, with references filled in; empty without either.

        A reference that leads nowhere stays, as in Hadoop.
        """
        value = self._plain(name) or ""
        for _ in range(_MOST_REFERENCES):
            match = _REFERENCE.search(value)
            if match is None or (found := self._referred(match[1])) is None:
                break
            value = value[: match.start()] + found + value[match.end() :]
        return value

    @property
    def managers(self) -> tuple[Address, ...]:
        """Return where each ResourceManager listens for clients; of several one is active."""
        return self._of_each_manager("address", 8032)

    @property
    def pages(self) -> tuple[str, ...]:
        """Return the web address of each ResourceManager."""
        if self.value("yarn.http.policy") == "HTTPS_ONLY":
            scheme, addresses = "https", self._of_each_manager("webapp.https.address", 8090)
        else:
            scheme, addresses = "http", self._of_each_manager("webapp.address", 8088)
        return tuple(f"{scheme}://{host}:{port}" for host, port in addresses)

    @property
    def name_nodes(self) -> tuple[Address, ...]:
        """Return where the NameNodes of the default file system listen; none if it is no HDFS."""
        default = re.fullmatch(r"hdfs://([^/]+)/?.*", self.value("fs.defaultFS"))
        if default is None:
            return ()
        service = default[1]
        ids = _words(self.value(f"dfs.ha.namenodes.{service}"))
        if service not in _words(self.value("dfs.nameservices")) or not ids:
            return (_address(service, 8020),)
        named = (self.value(f"dfs.namenode.rpc-address.{service}.{each}") for each in ids)
        return tuple(_address(each, 8020) for each in named if each)

    def _of_each_manager(self, what: str, port: int) -> tuple[Address, ...]:
        ids = _words(self.value(_RM + "ha.rm-ids"))
        if self.value(_RM + "ha.enabled").lower() != "true" or not ids:
            return (_address(self.value(_RM + what), port),)
        named = (
            self.value(f"{_RM}{what}.{each}")
            or self.value(f"{_RM}hostname.{each}")
            or self.value(f"{_RM}hostname")
            for each in ids
        )
        return tuple(_address(each, port) for each in named)

    def _plain(self, name: str) -> str | None:
        return self.properties.get(name, _DEFAULTS.get(name))

    def _referred(self, name: str) -> str | None:
        match = _OF_ENVIRONMENT.fullmatch(name)
        if match is None:
            return self._plain(name)
        given = os.environ.get(match[1])
        if given or (given is not None and match[2] != ":-"):
            return given
        return match[3]


def find_hadoop(
    environment: Mapping[str, str] = os.environ, *, variables: Iterable[str] = ("HADOOP_CONF_DIR",)
) -> Hadoop:
    """Return the configuration in the folders that *variables* name; the last one counts most.

    Raises:
        NotConfigured: no variable names a folder with a yarn-site.xml, or a file cannot be read.
    """
    named = {name: Path(environment[name]) for name in variables if environment.get(name)}
    if not named:
        raise NotConfigured(
            f"{' or '.join(variables)} is not set",
            expected="the folder of the cluster's core-site.xml and yarn-site.xml",
            hint="export HADOOP_CONF_DIR=/etc/hadoop/conf, or wherever the clients of your cluster"
            " have it.",
        )
    properties = read_properties(*(folder / file for file in FILES for folder in named.values()))
    for folder in named.values():
        if (folder / "yarn-site.xml").is_file():
            return Hadoop(folder, properties)
    variable, folder = next(iter(named.items()))
    raise NotConfigured(
        "a folder without" if folder.is_dir() else "no such folder",
        where=f"{variable}={folder}",
        expected="a folder with yarn-site.xml",
        hint=f"Let {variable} name the folder that the clients of your cluster have.",
    )


def of_clients() -> Hadoop:
    """Return core-site.xml and hdfs-site.xml of HADOOP_CONF_DIR, read now; nothing if missing."""
    folder = Path(os.environ.get("HADOOP_CONF_DIR") or "/nonexistent")
    return Hadoop(folder, read_properties(*(folder / name for name in FILES[:2])))


def read_properties(*paths: Path) -> dict[str, str]:
    """Return the properties in some of Hadoop's files, unexpanded; none of a file that is missing.

    The last value counts, but none after one that is final.

    Raises:
        NotConfigured: a file cannot be read.
    """
    properties: dict[str, str] = {}
    final: set[str] = set()
    for name, value, is_final in chain.from_iterable(map(_read, paths)):
        if name not in final:
            properties[name] = value
        if is_final:
            final.add(name)
    return properties


def _read(path: Path) -> list[_Property]:
    try:
        now = path.stat()
        return _parsed(path, now.st_mtime_ns, now.st_size)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except (OSError, ET.ParseError) as error:
        raise NotConfigured(
            f"this file of the cluster's configuration cannot be read: {error}",
            where=path,
            expected="XML with <property> elements",
        ) from error


@lru_cache(maxsize=8)
def _parsed(path: Path, modified_ns: int, size: int) -> list[_Property]:
    # HDFS asks for each file that it writes, so a file is parsed when it has changed.
    del modified_ns, size
    root = ET.fromstring(path.read_bytes())  # noqa: S314 - the administrators' own file
    found = []
    for each in root.iter("property"):
        # As elements, or as attributes.
        name, value, final = (each.findtext(of, each.get(of)) for of in ("name", "value", "final"))
        if name and value is not None:
            found.append((name.strip(), value.strip(), (final or "").strip() == "true"))
    return found


def unreachable(addresses: Iterable[Address], seconds: float) -> str:
    """Return why no address accepts a connection within so many seconds; empty if one does."""
    failed = []
    for host, port in addresses:
        try:
            with socket.create_connection((host, port), timeout=seconds):
                return ""
        except (OSError, OverflowError, UnicodeError) as error:  # no such name, no such port
            failed.append(f"{host}:{port} ({getattr(error, 'strerror', None) or error})")
    return ", ".join(failed)


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _address(text: str, port: int) -> Address:
    host, colon, number = text.rpartition(":")
    return (host, int(number)) if colon and number.isdigit() else (text, port)
