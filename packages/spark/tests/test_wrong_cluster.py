"""What a wrong cluster, or a wrong wish, gets: which it is and what to do, in seconds.

Spark and Hadoop alone would try for minutes, or say it in pages of Java.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from audioloom_mini_cluster.client import Running
from audioloom_spark.session import spark_session
from audioloom_spark.settings import SparkSettings
from audioloom_spark.units import run_units
from audioloom_stage.exit_codes import exit_code
from audioloom_storage import Location

sys.path.insert(0, str(Path(__file__).parent))  # tests are files, not a package
from conftest import MEMORY

pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket.socket:ResourceWarning")


@dataclass(frozen=True)
class Wrong:
    """What is wrong, and what is said of it.

    Attributes:
        asked: changes of what is asked of the cluster.
        variables: of the environment; None takes one away, `{tmp}` is a folder of the test.
        code: the exit code.
        words: what the message must hold.
        made: what is made in the folder of the test first.
    """

    code: int
    words: tuple[str, ...]
    asked: dict[str, Any] = field(default_factory=dict)
    variables: dict[str, str | None] = field(default_factory=dict)
    made: Callable[[Running, Path], None] = lambda _cluster, _folder: None


def empty_conf(_: Running, folder: Path) -> None:
    (folder / "conf").mkdir()


def conf_with_a_dead(daemon: str) -> Callable[[Running, Path], None]:
    """The cluster's own configuration, with a port for one daemon on which nobody listens."""
    name = {"ResourceManager": "yarn.resourcemanager.address", "NameNode": "fs.defaultFS"}[daemon]
    one = re.compile(rf"(<name>{re.escape(name)}</name><value>[^<]*?127\.0\.0\.2:)\d+")

    def make(cluster: Running, folder: Path) -> None:
        shutil.copytree(cluster.conf, folder / "conf")
        with socket.socket() as free:
            free.bind(("127.0.0.2", 0))
            port = free.getsockname()[1]
        changed = 0
        for path in (folder / "conf").glob("*-site.xml"):
            text, times = one.subn(rf"\g<1>{port}", path.read_text())
            path.write_text(text)
            changed += times
        assert changed

    return make


def old_java(_: Running, folder: Path) -> None:
    """One that says what Java 8 says, which knows no modules."""
    java = folder / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\necho 'Unrecognized option: --add-opens' >&2\nexit 1\n")
    java.chmod(0o755)


CONF: dict[str, str | None] = {"HADOOP_CONF_DIR": "{tmp}/conf"}

AT_ONCE = {
    "no HADOOP_CONF_DIR": Wrong(
        78, ("HADOOP_CONF_DIR", "/etc/hadoop/conf"), variables={"HADOOP_CONF_DIR": None}
    ),
    "HADOOP_CONF_DIR is not there": Wrong(
        78, ("HADOOP_CONF_DIR={tmp}/conf", "no such folder"), variables=CONF
    ),
    "HADOOP_CONF_DIR without files": Wrong(
        78, ("HADOOP_CONF_DIR={tmp}/conf", "yarn-site.xml"), variables=CONF, made=empty_conf
    ),
    "no NameNode": Wrong(
        69,
        ("No NameNode answers", "127.0.0.2:", "fs.defaultFS"),
        variables=CONF,
        made=conf_with_a_dead("NameNode"),
    ),
    "no ResourceManager": Wrong(
        69,
        ("No ResourceManager answers", "127.0.0.2:", "yarn.resourcemanager.address"),
        variables=CONF,
        made=conf_with_a_dead("ResourceManager"),
    ),
    "unknown queue": Wrong(
        78, ("nightly", "--queue with one of default"), asked={"queue": "nightly"}
    ),
    "too much memory": Wrong(
        78, ("--executor-memory of at most 6144 MiB",), asked={"executor_memory": MEMORY * 99}
    ),
    "too many cores": Wrong(78, ("--executor-cores of at most 8",), asked={"executor_cores": 99}),
    "no Java here": Wrong(
        78, ("JAVA_HOME=/nowhere", "apt-get install"), variables={"JAVA_HOME": "/nowhere"}
    ),
}

ONCE_YARN_HAS_IT = {
    "no Java on the nodes": Wrong(
        78, ("/nowhere/bin/java: No such file", "--node-java"), asked={"node_java": "/nowhere"}
    ),
    "an old Java on the nodes": Wrong(
        78,
        ("Unrecognized option: --add-opens", "--node-java"),
        asked={"node_java": "{tmp}/java"},
        made=old_java,
    ),
    "no home on HDFS": Wrong(
        77,
        ("Permission denied: user=nobody", "/user"),
        variables={"HADOOP_USER_NAME": "nobody"},
    ),
}


def told(
    wrong: Wrong, cluster: Running, yarn: SparkSettings, folder: Path, patch: pytest.MonkeyPatch
) -> None:
    """Start Spark, and compare what is said."""
    wrong.made(cluster, folder)
    for name, value in wrong.variables.items():
        if value is None:
            patch.delenv(name, raising=False)
        else:
            patch.setenv(name, value.format(tmp=folder))
    asked = {
        name: value.format(tmp=folder) if isinstance(value, str) else value
        for name, value in wrong.asked.items()
    }
    with (
        pytest.raises(Exception) as caught,  # noqa: PT011 - compared below, by code and words
        spark_session("test", yarn.model_copy(update=asked)),
    ):
        pass
    text = str(caught.value)
    assert [] == [word for word in wrong.words if word.format(tmp=folder) not in text], text
    assert wrong.code == exit_code(caught.value)
    assert "py4j" not in text


@pytest.mark.parametrize("name", AT_ONCE)
def test_before_anything_is_shipped(
    name: str,
    cluster: Running,
    yarn: SparkSettings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No application is started for it."""
    before = sorted(cluster.applications(states=""))
    nothing = yarn.model_copy(update={"environments": f"{cluster.hdfs}/nothing-here"})
    told(AT_ONCE[name], cluster, nothing, tmp_path, monkeypatch)
    assert before == sorted(cluster.applications(states=""))


def test_one_who_may_not_write(cluster: Running, yarn: SparkSettings) -> None:
    """In a process of its own: a client of HDFS stays who it was."""
    program = f"""
from audioloom_spark.session import spark_session
from audioloom_spark.settings import SparkSettings
from audioloom_stage.exit_codes import exit_code

yarn = SparkSettings(master="yarn", executors=1, executor_cores=1, executor_memory={MEMORY})
try:
    with spark_session("test", yarn, {cluster.hdfs!r} + "/nothing-here"):
        pass
except Exception as error:
    print(int(exit_code(error)), error)
"""
    variables = {**os.environ, "HADOOP_CONF_DIR": cluster.conf, "HADOOP_USER_NAME": "nobody"}
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, capture_output=True, text=True, env=variables, check=True)
    assert "77 " in ran.stdout
    assert "Permission denied: user=nobody" in ran.stdout


@pytest.fixture(scope="module")
def unpacked(yarn: SparkSettings, shipped: Location) -> SparkSettings:
    """Jars and environment lie on the nodes, as they do after the first run."""
    with spark_session("first", yarn) as session:
        list(run_units(session, range(4), abs))
    return yarn


@pytest.mark.slow
@pytest.mark.parametrize("name", ONCE_YARN_HAS_IT)
def test_once_yarn_has_it(
    name: str,
    cluster: Running,
    unpacked: SparkSettings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What the nodes and HDFS say is buried in YARN's diagnostics, or in Java's."""
    told(ONCE_YARN_HAS_IT[name], cluster, unpacked, tmp_path, monkeypatch)
    assert [] == cluster.applications()


@pytest.mark.slow
def test_a_full_queue_is_told(cluster: Running, unpacked: SparkSettings) -> None:
    """An application that waits for another says why, and starts as soon as it may."""
    with second_program(cluster, unpacked) as second:
        with taking_all(unpacked):
            second.begin()
            said = second.line_with("waiting:")
            assert "YARN has not started the application yet" in said
            assert "application_" in said
            assert "queue=root.default" in said
            assert "waiting for resources" in said
        assert second.line_with("it started")


@pytest.mark.slow
def test_one_who_waits_may_go(cluster: Running, unpacked: SparkSettings) -> None:
    """Ctrl-C takes the application out of the queue too."""
    with second_program(cluster, unpacked) as second, taking_all(unpacked):
        second.begin()
        assert second.line_with("waiting:")
        assert 2 == len(cluster.applications())
        second.process.send_signal(signal.SIGINT)
        assert second.line_with("KeyboardInterrupt")
        second.line_with("(its end)")
        second.process.wait(timeout=60)
        assert 1 == len(cluster.applications()), second.said


@contextmanager
def taking_all(yarn: SparkSettings) -> Iterator[None]:
    """An application that leaves no room for another."""
    most = yarn.model_copy(
        update={"executors": 3, "executor_memory": 3 * MEMORY // 2}
    )  # one a node
    with spark_session("takes all", most) as session:
        list(run_units(session, range(4), abs))
        yield


class Second:
    """Another user of the same queue: a program that goes on once it is told to begin."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.said: list[str] = []

    def begin(self) -> None:
        assert self.process.stdin
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def line_with(self, words: str) -> str:
        """The first line that holds them; empty once it has ended."""
        for line in self.process.stdout or ():
            self.said.append(line)
            if words in line:
                return line
        return ""


@contextmanager
def second_program(cluster: Running, yarn: SparkSettings) -> Iterator[Second]:
    program = f"""
from audioloom_spark.session import spark_session
from audioloom_spark.settings import SparkSettings

input()
yarn = SparkSettings(
    master="yarn", executors=1, executor_cores=1, executor_memory={MEMORY},
    environments={yarn.environments!r},
)
with spark_session("second", yarn):
    print("it started", flush=True)
"""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    variables = {**os.environ, "HADOOP_CONF_DIR": cluster.conf}
    command = [sys.executable, "-u", "-c", program]
    with subprocess.Popen(command, text=True, env=variables, **pipes) as process:
        try:
            yield Second(process)
        except BaseException:
            process.kill()
            raise
