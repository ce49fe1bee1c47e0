"""One real cluster for all tests that need one, and one Spark on it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from audioloom_environment import Shipped, ship
from audioloom_spark import Yarn, spark_session
from audioloom_spark.yarn import _LEFT_OUT
from audioloom_storage import Location, locate
from pyspark.sql import SparkSession

MEMORY = 1 << 30


@dataclass(frozen=True)
class Cluster:
    """A running mini cluster."""

    facts: dict[str, Any]

    @property
    def conf(self) -> str:
        return str(self.facts["conf"])

    @property
    def root(self) -> Location:
        return locate(self.facts["hdfs"])

    def get(self, path: str) -> Any:
        """What the ResourceManager's page says."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(self.facts["pages"]["yarn"] + path, timeout=30) as answer:
            return json.loads(answer.read())


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A cluster of its own, or the one of which AUDIOLOOM_TEST_CLUSTER names the line."""
    with _running() as found, pytest.MonkeyPatch.context() as patch:
        patch.setenv("HADOOP_CONF_DIR", found.conf)
        patch.delenv("YARN_CONF_DIR", raising=False)
        yield found


@contextmanager
def _running() -> Iterator[Cluster]:
    if given := os.environ.get("AUDIOLOOM_TEST_CLUSTER"):
        yield Cluster(json.loads(Path(given).read_text()))
        return
    command = [sys.executable, "-m", "audioloom_mini_cluster", "--memory-mb", "3072"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:
        assert process.stdin
        assert process.stdout
        try:
            yield Cluster(json.loads(process.stdout.readline()))
        finally:
            process.stdin.close()
            process.wait(timeout=120)


@pytest.fixture(scope="session")
def yarn(cluster: Cluster) -> Yarn:
    # Of this session alone, also on a cluster that others have used.
    folder = cluster.root / f"environments-{os.getpid()}"
    return Yarn(folder, executors=2, cores=1, memory=MEMORY)


@pytest.fixture(scope="session")
def shipped(yarn: Yarn, tmp_path_factory: pytest.TempPathFactory) -> Shipped:
    """This very environment, packed from a copy of it that is gone by now."""
    copy = tmp_path_factory.mktemp("moved") / "environment"
    try:
        shutil.copytree(sys.prefix, copy, symlinks=True, copy_function=os.link)
    except (OSError, shutil.Error):  # another file system
        shutil.copytree(sys.prefix, copy, symlinks=True, dirs_exist_ok=True)
    try:
        return ship(copy, yarn.folder, exclude=_LEFT_OUT)
    finally:
        shutil.rmtree(copy)


@pytest.fixture(scope="session")
def on_yarn(cluster: Cluster, yarn: Yarn, shipped: Shipped) -> Iterator[SparkSession]:
    """Spark on the cluster; its tasks run where they had better, however long that takes."""
    settings = {"spark.locality.wait": "600s"}
    with spark_session("test", "yarn", yarn=yarn, settings=settings) as session:
        yield session
    states = cluster.get("/ws/v1/cluster/apps")["apps"]["app"]
    assert [] == [app["id"] for app in states if app["state"] in ("ACCEPTED", "RUNNING")]
