"""The stage on a real cluster, and faults in the middle of its work."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from audioloom_manifest.reader import read_manifest
from audioloom_mini_cluster.client import Running, running
from audioloom_mini_cluster.faults import ended, kill_an_executor, run, start, until
from audioloom_storage import (
    Location,
    create,
    exists,
    is_temporary,
    list_folder,
    locate,
    make_folder,
)
from audioloom_storage.errors import NotFound
from featurizer_containers import make_tgz
from featurizer_work import PATTERN, write_wav

pytestmark = pytest.mark.slow

PROGRAM = Path(sys.executable).with_name("audioloom-featurizer")
ON_YARN = (
    *("--master", "yarn", "--executors", "2"),
    *("--executor-cores", "1", "--executor-memory", "1GiB"),
)

RECORDINGS = 64
UNITS = RECORDINGS // 2
IN_FLIGHT = 3
BUDGET = ("--error-budget", "10%")
WORK = (*BUDGET, "--windows", "all", "--unit-recordings", "2", *ON_YARN)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Running]:
    with running("--memory-mb=3072") as cluster, cluster.exported():
        yield cluster


@pytest.fixture(scope="module")
def recordings(cluster: Running, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Minutes long, so that the work lasts; two bad ones among them."""
    wav = write_wav(tmp_path_factory.mktemp("wav") / "x.wav", 200.0)
    source = locate(cluster.hdfs) / "source"
    for number in range(RECORDINGS):
        folder = source / ("yes", "no")[number % 2]
        make_folder(folder)
        data = wav.read_bytes() if number % 30 else b"RIFF"
        with create(folder / f"s{number}-take.wav") as file:
            file.write(data)
    root = locate(cluster.hdfs) / "loom"
    return run(cluster, PROGRAM, "scan", source.uri, "--root", root.uri, "--pattern", PATTERN)


@pytest.mark.parametrize("master", [(), ON_YARN], ids=["alone", "on YARN"])
def test_containers_on_hdfs_are_listed(
    cluster: Running, tmp_path: Path, master: tuple[str, ...]
) -> None:
    """By the process beside the one that scans, which has its variables."""
    wav = write_wav(tmp_path / "x.wav", 1.0).read_bytes()
    packed = make_tgz(tmp_path / "a.tar.gz", {f"yes/s{n}-take.wav": wav for n in range(3)})
    source = locate(cluster.hdfs) / f"packed-{len(master)}"
    make_folder(source)
    for name, data in (("a.tar.gz", packed.read_bytes()), ("b.tar.gz", b"no gzip")):
        with create(source / name) as file:
            file.write(data)
    root = locate(cluster.hdfs) / "loom"
    words = ("scan", source.uri, "--root", root.uri, "--containers", "--pattern", PATTERN)
    made = read_manifest(run(cluster, PROGRAM, *words, "--name", source.name, *master))
    assert 4 == made.manifest.stats.recordings


def started(cluster: Running, recordings: str, name: str) -> tuple[subprocess.Popen[str], Location]:
    """A run in the middle of its work: its process and its folder."""
    process = start(cluster, PROGRAM, "run", recordings, "--name", name, *WORK)
    folder = locate(cluster.hdfs) / "loom" / "features" / name
    receipts = folder / "receipts"
    until(lambda: process.poll() is not None or len(files(receipts)) >= IN_FLIGHT, "receipts")
    assert process.poll() is None, process.communicate()
    assert len(files(receipts)) < UNITS - IN_FLIGHT
    return process, folder


def files(folder: Location) -> list[str]:
    """Finished files of a folder; none where it is not there yet."""
    try:
        names = [entry.location.name for entry in list_folder(folder)]
    except NotFound:
        return []
    return [name for name in names if not is_temporary(name)]


def check(cluster: Running, folder: Location) -> None:
    """It is committed, verifies, holds every recording once; nothing of it runs any more."""
    run(cluster, PROGRAM, "verify", folder.uri)
    stats = read_manifest(folder.uri, "features").manifest.stats
    assert (RECORDINGS, RECORDINGS - 3, 3) == (stats.recordings, stats.extracted, stats.refused)
    until(lambda: not cluster.applications(), "no application is left")


def again(cluster: Running, recordings: str, folder: Location) -> None:
    """The same command finishes what is left, and does no unit twice."""
    before = files(folder / "features")
    words = ("--name", folder.name, *WORK)
    assert str(folder / "manifest.json") == run(cluster, PROGRAM, "run", recordings, *words)
    assert set(before) <= set(files(folder / "features"))
    check(cluster, folder)


def test_units_run_where_their_blocks_are(cluster: Running, recordings: str) -> None:
    """And the manifest's execution says how many did, and where the work was done."""
    words = ("--name", "whole", *WORK)
    place = run(cluster, PROGRAM, "run", recordings, *words)
    opened = read_manifest(place, "features")
    check(cluster, opened.folder)
    counts = opened.manifest.execution.counts
    assert UNITS == counts["units_placed"]
    assert UNITS / 2 < counts["units_local"] <= UNITS
    assert "yarn" == opened.manifest.execution.settings["master"]


def test_a_source_is_listed_in_tasks(cluster: Running, recordings: str) -> None:
    """It is the run that a walk from here makes; nothing else is left below the root."""
    source, root = (locate(cluster.hdfs) / name for name in ("source", "tasks"))
    words = ("--root", root.uri, "--pattern", PATTERN, *ON_YARN)
    place = run(cluster, PROGRAM, "scan", source.uri, *words)
    walked, listed = (read_manifest(each, "recordings").manifest for each in (recordings, place))
    assert (walked.name, walked.identity) == (listed.name, listed.identity)
    assert "yarn" == listed.execution.settings["master"]
    assert [] == files(root / "scratch")


def test_a_datanode_is_lost(cluster: Running, recordings: str) -> None:
    """The run goes on with the copies that are left."""
    process, folder = started(cluster, recordings, "datanode")
    with cluster.without("datanode-1"):
        ended(process, 0)
        check(cluster, folder)


def test_an_executor_is_killed(cluster: Running, recordings: str) -> None:
    """Its units are done elsewhere, none of them twice."""
    process, folder = started(cluster, recordings, "executor")
    kill_an_executor(cluster)
    ended(process, 0)
    check(cluster, folder)
    assert UNITS == len(files(folder / "receipts"))


def test_the_program_is_killed(cluster: Running, recordings: str) -> None:
    """No manifest, no application that outlives it; a rerun does what is left."""
    process, folder = started(cluster, recordings, "driver")
    process.kill()
    process.communicate()
    until(lambda: not cluster.applications(), "the application ends")
    assert not exists(folder / "manifest.json")
    again(cluster, recordings, folder)


def test_the_namenode_is_away(cluster: Running, recordings: str) -> None:
    """A run outlives no longer absence: it says so, and a rerun does what is left."""
    process, folder = started(cluster, recordings, "namenode")
    with cluster.without("namenode"):
        _, said = ended(process, 69)
    assert "Traceback" not in said
    assert "py4j" not in said
    until(lambda: not cluster.applications(), "the application ends")
    again(cluster, recordings, folder)
