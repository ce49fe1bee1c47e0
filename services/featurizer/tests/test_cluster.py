"""The stage on a real cluster, and faults in the middle of its work."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from audioloom_manifest import read_manifest
from audioloom_storage import Location, create, exists, make_folder

sys.path.insert(0, str(Path(__file__).parent))  # tests are files, not a package
from featurizer_cluster import ON_YARN, Cluster, ended, files, running_cluster, until
from featurizer_work import PATTERN, write_wav

pytestmark = pytest.mark.slow

RECORDINGS = 64
UNITS = RECORDINGS // 2
IN_FLIGHT = 3
WORK = ("--windows", "all", "--unit-recordings", "2", *ON_YARN)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with running_cluster() as cluster, pytest.MonkeyPatch.context() as patch:
        patch.setenv("HADOOP_CONF_DIR", cluster.facts["conf"])
        yield cluster


@pytest.fixture(scope="module")
def recordings(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Minutes long, so that the work lasts; two bad ones among them."""
    wav = write_wav(tmp_path_factory.mktemp("wav") / "x.wav", 200.0)
    source = cluster.root / "source"
    for number in range(RECORDINGS):
        folder = source / ("yes", "no")[number % 2]
        make_folder(folder)
        data = wav.read_bytes() if number % 30 else b"RIFF"
        with create(folder / f"s{number}-take.wav") as file:
            file.write(data)
    root = cluster.root / "loom"
    return cluster.run("scan", source.uri, "--root", root.uri, "--pattern", PATTERN)


def started(cluster: Cluster, recordings: str, name: str) -> tuple[subprocess.Popen[str], Location]:
    """A run in the middle of its work: its process and its folder."""
    process = cluster.start("run", recordings, "--name", name, "--error-budget", "10%", *WORK)
    folder = cluster.root / "loom" / "features" / name
    receipts = folder / "receipts"
    until(lambda: process.poll() is not None or len(files(receipts)) >= IN_FLIGHT, "receipts")
    assert process.poll() is None, process.communicate()
    assert len(files(receipts)) < UNITS - IN_FLIGHT
    return process, folder


def check(cluster: Cluster, folder: Location) -> None:
    """It is committed, verifies, holds every recording once; nothing of it runs any more."""
    cluster.run("verify", folder.uri)
    stats = read_manifest(folder.uri, "features").manifest.stats
    assert (RECORDINGS, RECORDINGS - 3, 3) == (stats.recordings, stats.extracted, stats.refused)
    until(lambda: not cluster.living(), "no application is left")


def again(cluster: Cluster, recordings: str, folder: Location) -> None:
    """The same command finishes what is left, and does no unit twice."""
    before = files(folder / "features")
    words = ("--name", folder.name, "--error-budget", "10%", *WORK)
    assert str(folder / "manifest.json") == cluster.run("run", recordings, *words)
    assert set(before) <= set(files(folder / "features"))
    check(cluster, folder)


def test_units_run_where_their_blocks_are(cluster: Cluster, recordings: str) -> None:
    """And the manifest's execution says how many did, and where the work was done."""
    words = ("--name", "whole", "--error-budget", "10%", *WORK)
    place = cluster.run("run", recordings, *words)
    opened = read_manifest(place, "features")
    check(cluster, opened.folder)
    counts = opened.manifest.execution.counts
    assert UNITS == counts["units_placed"]
    assert UNITS / 2 < counts["units_local"] <= UNITS
    assert "yarn" == opened.manifest.execution.settings["master"]


def test_a_datanode_is_lost(cluster: Cluster, recordings: str) -> None:
    """The run goes on with the copies that are left."""
    process, folder = started(cluster, recordings, "datanode")
    cluster.tell("kill datanode-1")
    try:
        ended(process, 0)
        check(cluster, folder)
    finally:
        cluster.tell("start datanode-1")


def test_an_executor_is_killed(cluster: Cluster, recordings: str) -> None:
    """Its units are done elsewhere, none of them twice."""
    process, folder = started(cluster, recordings, "executor")
    cluster.kill_an_executor()
    ended(process, 0)
    check(cluster, folder)
    assert UNITS == len(files(folder / "receipts"))


def test_the_program_is_killed(cluster: Cluster, recordings: str) -> None:
    """No manifest, no application that outlives it; a rerun does what is left."""
    process, folder = started(cluster, recordings, "driver")
    process.kill()
    process.communicate()
    until(lambda: not cluster.living(), "the application ends")
    assert not exists(folder / "manifest.json")
    again(cluster, recordings, folder)


def test_the_namenode_restarts(cluster: Cluster, recordings: str) -> None:
    """The run goes on, or says that the service is down; a rerun does what is left."""
    process, folder = started(cluster, recordings, "namenode")
    cluster.tell("kill namenode")
    cluster.tell("start namenode")
    _, said = ended(process, 0, 69)
    assert "Traceback" not in said
    assert "py4j" not in said
    until(lambda: not cluster.living(), "the application ends")
    again(cluster, recordings, folder)
