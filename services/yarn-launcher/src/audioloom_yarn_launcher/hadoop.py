"""What this machine knows of its Hadoop cluster: the configuration folder, and the programs.

Looked at before anything is started, because what finds out later (a JVM that asks a
ResourceManager which is not there) takes minutes to say so.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree as ET

from audioloom_yarn_launcher.errors import NoCluster, ResourceManagerDown

CONF = "HADOOP_CONF_DIR"
FILES = ("core-site.xml", "yarn-site.xml")
ANSWER_WITHIN_S = 3.0
_VARIABLE = re.compile(r"\$\{([^}]+)\}")
_MOST_ROUNDS = 20

_DEFAULTS = {
    "yarn.resourcemanager.hostname": "0.0.0.0",  # noqa: S104 - Hadoop's default, and never right
    "yarn.resourcemanager.address": "${yarn.resourcemanager.hostname}:8032",
    "yarn.resourcemanager.webapp.address": "${yarn.resourcemanager.hostname}:8088",
    "yarn.resourcemanager.webapp.https.address": "${yarn.resourcemanager.hostname}:8090",
    "yarn.http.policy": "HTTP_ONLY",
}


@dataclass(frozen=True)
class Hadoop:
    """A cluster's configuration, as its clients have it.

    Args:
        conf: the folder.
        properties: of core-site.xml and yarn-site.xml, with Hadoop's defaults, unexpanded.
    """

    conf: Path
    properties: Mapping[str, str] = field(repr=False)

    def value(self, name: str) -> str:
        """A property, with what it refers to filled in; empty if it is not set."""
        text = self.properties.get(name, _DEFAULTS.get(name, ""))
        for _ in range(_MOST_ROUNDS):
            filled = _VARIABLE.sub(self._referred, text)
            if filled == text:
                break
            text = filled
        return text

    @property
    def managers(self) -> tuple[str, ...]:
        """`host:port` for clients of each ResourceManager."""
        return self._of_each_manager("address", "8032")

    @property
    def pages(self) -> tuple[str, ...]:
        """The web address of each ResourceManager."""
        if self.value("yarn.http.policy") == "HTTPS_ONLY":
            found = self._of_each_manager("webapp.https.address", "8090")
            return tuple(f"https://{address}" for address in found)
        return tuple(f"http://{each}" for each in self._of_each_manager("webapp.address", "8088"))

    def _of_each_manager(self, what: str, port: str) -> tuple[str, ...]:
        prefix = "yarn.resourcemanager"
        ids = [each.strip() for each in self.value(f"{prefix}.ha.rm-ids").split(",")]
        if self.value(f"{prefix}.ha.enabled").lower() != "true" or not ids[0]:
            return (self.value(f"{prefix}.{what}"),)
        return tuple(
            self.value(f"{prefix}.{what}.{each}")
            or f"{self.value(f'{prefix}.hostname.{each}')}:{port}"
            for each in ids
        )

    def _referred(self, match: re.Match[str]) -> str:
        name = match[1]
        if name.startswith("env."):
            return os.environ.get(name.removeprefix("env."), "")
        return self.properties.get(name, _DEFAULTS.get(name, ""))


def find_hadoop() -> Hadoop:
    """The cluster that HADOOP_CONF_DIR names.

    Raises:
        NoCluster: it names none.
    """
    named = os.environ.get(CONF, "")
    if not named:
        raise NoCluster(
            "the variable that names the cluster is not set",
            expected=f"{CONF}, a folder with {' and '.join(FILES)}",
            found="nothing",
            hint=f"export {CONF}=/etc/hadoop/conf, or wherever your cluster's clients have it.",
        )
    conf = Path(named)
    if not (conf / "yarn-site.xml").is_file():
        raise NoCluster(
            f"{CONF} names no configuration of YARN",
            where=conf,
            expected="a folder with yarn-site.xml",
            found="a folder without" if conf.is_dir() else "no such folder",
        )
    properties: dict[str, str] = {}
    for name in FILES:
        properties |= _read(conf / name)
    return Hadoop(conf, properties)


def check_reachable(hadoop: Hadoop) -> None:
    """See that a ResourceManager listens, in seconds.

    Raises:
        ResourceManagerDown: none does.
    """
    refusals = []
    for address in hadoop.managers:
        host, _, port = address.rpartition(":")
        try:
            with socket.create_connection((host, int(port)), ANSWER_WITHIN_S):
                return
        except (OSError, ValueError, OverflowError) as error:
            refusals.append(f"{address}: {error}")
    raise ResourceManagerDown(
        "no ResourceManager answers",
        where=hadoop.conf / "yarn-site.xml",
        expected="one that listens where yarn.resourcemanager.address says",
        found="; ".join(refusals),
        hint="Ask who runs the cluster, or point HADOOP_CONF_DIR at another.",
    )


def check_programs() -> None:
    """See that what skein starts is there: Java, and `yarn`, which knows Hadoop's class path.

    Raises:
        NoCluster: it is not.
    """
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(str(Path(home, "bin/java"))) if home else shutil.which("java")
    if java is None:
        raise NoCluster(
            "Java is missing",
            expected="bin/java in JAVA_HOME" if home else "java on the PATH, or JAVA_HOME",
            found=f"none in {home}" if home else "neither",
            hint="Install Java 8, 11 or 17 as the cluster has it (Debian: apt install"
            " openjdk-17-jre-headless), or set JAVA_HOME.",
        )
    if shutil.which("yarn") is None:
        raise NoCluster(
            "the program `yarn` is missing",
            expected="yarn on the PATH: it tells where Hadoop's jars are",
            found="none",
            hint="Put Hadoop's bin folder on the PATH.",
        )


def _read(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {}
    try:
        root = ET.parse(path).getroot()  # noqa: S314 - the cluster's own configuration
    except ET.ParseError as error:
        raise NoCluster(
            "a file of the cluster's configuration cannot be read",
            where=path,
            expected="XML with <property> elements",
            found=error,
        ) from error
    return {
        (each.findtext("name") or "").strip(): (each.findtext("value") or "").strip()
        for each in root.iter("property")
    }
