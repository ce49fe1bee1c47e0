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
from audioloom_storage import Location, exists, is_temporary, list_folder, locate
from audioloom_storage.errors import NotFound
from sharder_features import REAL, feature_of, make_features, windows

pytestmark = pytest.mark.slow

PROGRAM = Path(sys.executable).with_name("audioloom-sharder")
ON_YARN = (
    *("--master", "yarn", "--executors", "2"),
    *("--executor-cores", "1", "--executor-memory", "1GiB"),
)

PARTS, ROWS = 32, 100
LANES = 8
IN_FLIGHT = 3
WORK = ("--lanes", LANES, *ON_YARN)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Running]:
    with running("--memory-mb=3072") as cluster, cluster.exported():
        yield cluster


@pytest.fixture(scope="module")
def features(cluster: Running) -> str:
    """Files of 5 MB, so that the work lasts."""
    rows = windows(PARTS * ROWS)
    parts = [rows[first : first + ROWS] for first in range(0, len(rows), ROWS)]
    return str(make_features(locate(cluster.hdfs) / "loom", parts, feature=feature_of(REAL)).folder)


@pytest.fixture(scope="module")
def whole(cluster: Running, features: str) -> str:
    """The identity of an undisturbed run: of recipe, inputs and the checksums of all files."""
    place = run(cluster, PROGRAM, "run", features, "--name", "whole", *WORK)
    opened = read_manifest(place, "shards")
    counts = opened.manifest.execution.counts
    assert 2 * PARTS == counts["units_placed"]
    assert PARTS < counts["units_local"] <= 2 * PARTS
    run(cluster, PROGRAM, "verify", place, *ON_YARN)
    return opened.manifest.identity


def started(cluster: Running, features: str, name: str) -> tuple[subprocess.Popen[str], Location]:
    """A run in the middle of its work: its process and its folder."""
    process = start(cluster, PROGRAM, "run", features, "--name", name, *WORK)
    folder = locate(cluster.hdfs) / "loom" / "shards" / name

    def segments() -> int:
        return sum(
            each.startswith("segments-") for each in files(folder / "work/segments/receipts")
        )

    until(lambda: process.poll() is not None or segments() >= IN_FLIGHT, "segments")
    assert process.poll() is None, process.communicate()
    assert segments() < PARTS
    return process, folder


def files(folder: Location) -> list[str]:
    """Finished files of a folder; none where it is not there yet."""
    try:
        names = [entry.location.name for entry in list_folder(folder)]
    except NotFound:
        return []
    return [name for name in names if not is_temporary(name)]


def check(cluster: Running, folder: Location, whole: str) -> None:
    """It is committed, verifies, is what an undisturbed run makes; nothing of it runs any more."""
    run(cluster, PROGRAM, "verify", folder.uri)
    assert whole == read_manifest(folder.uri, "shards").manifest.identity
    assert not exists(folder / "work")
    until(lambda: not cluster.applications(), "no application is left")


@pytest.mark.parametrize("cores", [1, 2])
def test_local_cores_write_what_yarn_writes(
    cluster: Running, features: str, whole: str, cores: int
) -> None:
    """The same rows in other files, in another order, on one core and on two: the same shards."""
    rows = windows(PARTS * ROWS)[::-1]
    size = len(rows) // 5
    parts = [rows[first : first + size] for first in range(0, len(rows), size)]
    place = locate(cluster.hdfs) / f"other-{cores}"
    other = make_features(place, parts, feature=feature_of(REAL)).folder
    ours = ("--lanes", LANES, "--name", "run", "--master", f"local[{cores}]")
    ran = run(cluster, PROGRAM, "run", other, *ours)
    on_yarn = locate(cluster.hdfs) / "loom" / "shards" / "whole"
    assert whole == read_manifest(on_yarn.uri, "shards").manifest.identity
    assert digests(on_yarn.uri) == digests(ran)


def digests(place: str) -> dict[str, str]:
    """SHA-256 of every shard and index, by path."""
    entries = read_manifest(place, "shards").files()
    return {entry.path: entry.sha256 for entry in entries if entry.role in {"shard", "index"}}


def test_an_executor_is_killed(cluster: Running, features: str, whole: str) -> None:
    """Its units are done elsewhere, none of them twice."""
    process, folder = started(cluster, features, "executor")
    kill_an_executor(cluster)
    ended(process, 0)
    check(cluster, folder, whole)


def test_a_datanode_is_lost(cluster: Running, features: str, whole: str) -> None:
    """The run goes on with the copies that are left."""
    process, folder = started(cluster, features, "datanode")
    with cluster.without("datanode-1"):
        ended(process, 0)
        check(cluster, folder, whole)


def test_the_program_is_killed(cluster: Running, features: str, whole: str) -> None:
    """No manifest, no application that outlives it; a rerun does what is left."""
    process, folder = started(cluster, features, "driver")
    process.kill()
    process.communicate()
    until(lambda: not cluster.applications(), "the application ends")
    assert not exists(folder / "manifest.json")
    again(cluster, features, folder, whole)


def test_the_namenode_is_away(cluster: Running, features: str, whole: str) -> None:
    """A run outlives no longer absence: it says so, and a rerun does what is left."""
    process, folder = started(cluster, features, "namenode")
    with cluster.without("namenode"):
        _, said = ended(process, 69)
    assert "Traceback" not in said
    assert "py4j" not in said
    until(lambda: not cluster.applications(), "the application ends")
    again(cluster, features, folder, whole)


def again(cluster: Running, features: str, folder: Location, whole: str) -> None:
    """The same command finishes what is left."""
    ran = run(cluster, PROGRAM, "run", features, "--name", folder.name, *WORK)
    assert str(folder / "manifest.json") == ran
    check(cluster, folder, whole)
