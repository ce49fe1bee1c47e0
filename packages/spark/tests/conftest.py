"""One real cluster for all tests that need one, and one Spark on it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator

import pytest
from audioloom_environment.upload import ship
from audioloom_mini_cluster.client import Running, running
from audioloom_spark.session import spark_session
from audioloom_spark.settings import SparkSettings
from audioloom_spark.yarn import _LEFT_OUT
from audioloom_stage.units import Size
from audioloom_storage import Location, locate
from pyspark.sql import SparkSession

MEMORY = 3392 << 20  # of an executor: a node has room for one, so two are on two nodes


@pytest.fixture(scope="session")
def cluster() -> Iterator[Running]:
    """The cluster that all sessions share, or one of its own."""
    with running() as found, pytest.MonkeyPatch.context() as patch:
        patch.setenv("HADOOP_CONF_DIR", found.conf)
        patch.delenv("YARN_CONF_DIR", raising=False)
        yield found


@pytest.fixture(scope="session")
def yarn(cluster: Running) -> SparkSettings:
    return SparkSettings(
        master="yarn",
        executors=2,
        executor_cores=1,
        executor_memory=Size(MEMORY),
        environments=f"{cluster.base}/environments",
    )


@pytest.fixture(scope="session")
def shipped(yarn: SparkSettings, tmp_path_factory: pytest.TempPathFactory) -> Location:
    """This very environment, packed from a copy of it that is gone by now."""
    copy = tmp_path_factory.mktemp("moved") / "environment"
    try:
        shutil.copytree(sys.prefix, copy, symlinks=True, copy_function=os.link)
    except (OSError, shutil.Error):  # another file system
        shutil.copytree(sys.prefix, copy, symlinks=True, dirs_exist_ok=True)
    try:
        return ship(copy, locate(str(yarn.environments)), exclude=_LEFT_OUT)
    finally:
        shutil.rmtree(copy)


@pytest.fixture(scope="module")  # a process has one Spark at a time
def on_yarn(cluster: Running, yarn: SparkSettings, shipped: Location) -> Iterator[SparkSession]:
    """Spark on the cluster; its tasks run where they had better, however long that takes."""
    patient = {"spark.locality.wait": "600s"}
    with spark_session("test", yarn, conf=patient) as session:
        yield session
    assert [] == cluster.applications()
