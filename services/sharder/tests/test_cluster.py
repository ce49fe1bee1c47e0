"""The stage on a real cluster, and faults in the middle of its work."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from audioloom_manifest import read_manifest
from audioloom_storage import Location, exists

sys.path.insert(0, str(Path(__file__).parent))  # tests are files, not a package
from features_maker import REAL, feature_of, make_features, windows
from sharder_cluster import ON_YARN, Cluster, ended, files, running_cluster, until

pytestmark = pytest.mark.slow

PARTS, ROWS = 32, 100
LANES = 8
IN_FLIGHT = 3
WORK = ("--lanes", LANES, *ON_YARN)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with running_cluster() as cluster, pytest.MonkeyPatch.context() as patch:
        patch.setenv("HADOOP_CONF_DIR", cluster.facts["conf"])
        yield cluster


@pytest.fixture(scope="module")
def features(cluster: Cluster) -> str:
    """Files of 5 MB, so that the work lasts."""
    rows = windows(PARTS * ROWS)
    parts = [rows[first : first + ROWS] for first in range(0, len(rows), ROWS)]
    return str(make_features(cluster.root / "loom", parts, feature=feature_of(REAL)).folder)


@pytest.fixture(scope="module")
def whole(cluster: Cluster, features: str) -> str:
    """The identity of an undisturbed run: of recipe, inputs and the checksums of all files."""
    place = cluster.run("run", features, "--name", "whole", *WORK)
    opened = read_manifest(place, "shards")
    counts = opened.manifest.execution.counts
    assert 2 * PARTS == counts["units_placed"]
    assert PARTS < counts["units_local"] <= 2 * PARTS
    cluster.run("verify", place, *ON_YARN)
    return opened.manifest.identity


def started(cluster: Cluster, features: str, name: str) -> tuple[subprocess.Popen[str], Location]:
    """A run in the middle of its work: its process and its folder."""
    process = cluster.start("run", features, "--name", name, *WORK)
    folder = cluster.root / "loom" / "shards" / name

    def segments() -> int:
        return sum(each.startswith("segments-") for each in files(folder / "work" / "receipts"))

    until(lambda: process.poll() is not None or segments() >= IN_FLIGHT, "segments")
    assert process.poll() is None, process.communicate()
    assert segments() < PARTS
    return process, folder


def check(cluster: Cluster, folder: Location, whole: str) -> None:
    """It is committed, verifies, is what an undisturbed run makes; nothing of it runs any more."""
    cluster.run("verify", folder.uri)
    assert whole == read_manifest(folder.uri, "shards").manifest.identity
    assert not exists(folder / "work")
    until(lambda: not cluster.living(), "no application is left")


def test_an_executor_is_killed(cluster: Cluster, features: str, whole: str) -> None:
    """Its units are done elsewhere, none of them twice."""
    process, folder = started(cluster, features, "executor")
    cluster.kill_an_executor()
    ended(process, 0)
    check(cluster, folder, whole)


def test_a_datanode_is_lost(cluster: Cluster, features: str, whole: str) -> None:
    """The run goes on with the copies that are left."""
    process, folder = started(cluster, features, "datanode")
    cluster.tell("kill datanode-1")
    try:
        ended(process, 0)
        check(cluster, folder, whole)
    finally:
        cluster.tell("start datanode-1")


def test_the_program_is_killed(cluster: Cluster, features: str, whole: str) -> None:
    """No manifest, no application that outlives it; a rerun does what is left."""
    process, folder = started(cluster, features, "driver")
    process.kill()
    process.communicate()
    until(lambda: not cluster.living(), "the application ends")
    assert not exists(folder / "manifest.json")
    again(cluster, features, folder, whole)


def test_the_namenode_restarts(cluster: Cluster, features: str, whole: str) -> None:
    """The run goes on, or says that the service is down; a rerun does what is left."""
    process, folder = started(cluster, features, "namenode")
    cluster.tell("kill namenode")
    cluster.tell("start namenode")
    _, said = ended(process, 0, 69)
    assert "Traceback" not in said
    assert "py4j" not in said
    until(lambda: not cluster.living(), "the application ends")
    again(cluster, features, folder, whole)


def again(cluster: Cluster, features: str, folder: Location, whole: str) -> None:
    """The same command finishes what is left."""
    ran = cluster.run("run", features, "--name", folder.name, *WORK)
    assert str(folder / "manifest.json") == ran
    check(cluster, folder, whole)
