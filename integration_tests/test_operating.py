"""What OPERATING.md says and a change could make untrue, tried on the cluster."""

from __future__ import annotations

import getpass
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from audioloom_quickstart.programs import MOST_BYTES, read_manifest
from audioloom_storage import locate, publish, read_bytes, remove
from deployment import Deployment
from stage_run import StageRun

TRY_AGAIN = 75
ONE_SPLIT = ("--split", "train=1")
NOT_A_FILE = "-"
UMASK = "<name>fs.permissions.umask-mode</name><value>027</value>"


def rights(deployment: Deployment, folder: str) -> set[tuple[str, ...]]:
    """The permissions, copies and owners of the files below a folder, as HDFS lists them."""
    lines = deployment.answer("hdfs", "dfs", "-ls", "-R", folder).splitlines()
    rows = [line.split() for line in lines]
    return {tuple(row[:3]) for row in rows if row[1] != NOT_A_FILE}


def test_what_is_written_follows_the_configuration_of_who_writes_it(
    deployment: Deployment,
    featurizing: StageRun,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Owner, umask and replication; in executors, that come by it with Spark, as here."""
    me = getpass.getuser()
    folder = featurizing.manifest.removesuffix("/manifest.json")
    assert {("-rw-r--r--", "2", me)} == rights(deployment, folder)
    shipped = rights(deployment, f"{deployment.root}/environments")
    assert {("-rw-------", "10", me)} == shipped  # Spark's jars, too: every node fetches them
    conf = shutil.copytree(deployment.cluster.conf, tmp_path / "conf")
    site = (conf / "hdfs-site.xml").read_text()
    for before, after in (
        ("<name>dfs.replication</name><value>2", "<name>dfs.replication</name><value>1"),
        ("</configuration>", f"<property>{UMASK}</property></configuration>"),
    ):
        site = site.replace(before, after)
    (conf / "hdfs-site.xml").write_text(site)
    monkeypatch.setenv("HADOOP_CONF_DIR", str(conf))
    root = f"{deployment.root}/guarded"
    deployment.answer("featurizer", "scan", f"{deployment.root}/voices", "--root", root)
    assert {("-rw-r-----", "1", me)} == rights(deployment, root)


@contextmanager
def quota(deployment: Deployment, folder: str, size: str) -> Iterator[None]:
    """Until the block ends, a folder holds no more: copies count, and whole blocks at first."""
    deployment.answer("hdfs", "dfs", "-mkdir", "-p", folder)
    deployment.answer("hdfs", "dfsadmin", "-setSpaceQuota", size, folder)
    try:
        yield
    finally:
        deployment.answer("hdfs", "dfsadmin", "-clrSpaceQuota", folder)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("master", "size"),
    [
        pytest.param("inline", "1m", id="at-once"),
        pytest.param("inline", "36m", id="in-the-middle"),
        pytest.param("yarn", "36m", id="in-executors"),
    ],
)
def test_a_quota_is_called_that_and_nothing_is_committed(
    deployment: Deployment,
    featurizing: StageRun,
    master: str,
    size: str,
    request: pytest.FixtureRequest,
) -> None:
    """Exit code 75; with room the same command goes on, and what it makes verifies."""
    name = f"cramped-{request.node.callspec.id}"
    root = f"{deployment.root}/{name}"
    environments = ("--environments", f"{deployment.root}/environments")
    words = ("run", featurizing.manifest, "--root", root, *ONE_SPLIT, "--master", master)
    words = (*words, *environments)
    with quota(deployment, root, size):
        refused = deployment.start("sharder", *words)
        assert (TRY_AGAIN, "") == refused.finish(), refused.said
        assert "quota" in refused.said
        assert [] == deployment.manifests(f"{name}/shards")
    deployment.answer("sharder", "verify", deployment.answer("sharder", *words))


@pytest.mark.slow
def test_all_that_was_made_of_one_group_is_found(
    deployment: Deployment, voices: Path, recordings: str, featurizing: StageRun, sharding: StageRun
) -> None:
    """From the recordings to the model, and not what was made of others under the same root."""
    trained = deployment.answer("trainer", "run", sharding.manifest, "--epochs", "1")
    group = min(path.stem for path in (voices / "en").iterdir())
    found = traced(deployment, "--group", group)
    expected = [recordings, featurizing.manifest, sharding.manifest, trained]
    assert expected == [each for each in manifests(found) if each in expected]
    paths = [f"{language}/{group}.wav" for language in ("en", "fr", "ru")]
    # Other tests may have scanned copies of the recordings elsewhere under the root.
    voices_found = [each for each in found["recordings"] if f"{deployment.root}/voices/" in each]
    assert [f"{deployment.root}/voices/{path}" for path in paths] == voices_found
    assert {group} == {Path(each).stem for each in found["recordings"]}
    nobody = traced(deployment, "--group", "nobody")
    assert ([], []) == (nobody["recordings"], manifests(nobody))


def traced(deployment: Deployment, *words: str) -> Any:
    """What `trace` finds under the root."""
    return json.loads(
        deployment.answer("featurizer", "trace", "--root", deployment.root, *words, "--json")
    )


def manifests(found: Any) -> list[str]:
    """The manifests of the runs that hold the group, or are made from one that does."""
    runs = [run for run in found["runs"] if run["state"] != "cannot-tell"]
    return [f"{run['location']}/manifest.json" for run in runs]


def named(manifest: str) -> set[str]:
    """The files that a manifest names."""
    folder = manifest.removesuffix("manifest.json")
    listed = locate(folder + read_manifest(manifest)["files"]["name"])
    lines = read_bytes(listed, limit=MOST_BYTES).splitlines()
    return {folder + json.loads(line)["path"] for line in lines}


@pytest.mark.parametrize(("program", "kind"), [("featurizer", "features"), ("sharder", "shards")])
def test_gc_finds_what_no_manifest_names(
    deployment: Deployment, program: str, kind: str, request: Any
) -> None:
    """And nothing that one names, of whatever age, nor what is not ours."""
    made: StageRun = request.getfixturevalue(
        {"features": "featurizing", "shards": "sharding"}[kind]
    )
    some = min(named(made.manifest))
    stray = some.replace(some[-20:-10], os.urandom(5).hex())
    folder = made.manifest.removesuffix("/manifest.json")
    foreign = [f"{folder}/NOTES.md", f"{deployment.root}/scratch/thesis.tex"]
    publish(locate(stray), b"left by a try that died")
    for each in foreign:
        publish(locate(each), b"somebody else's")
    command = (program, "gc", "--root", deployment.root, "--older-than", "0s", "--json")
    found = set(json.loads(deployment.answer(*command))["files"])
    for each in (stray, *foreign):
        remove(locate(each))
    assert [True, False, False] == [each in found for each in (stray, *foreign)]
    committed = {name for each in deployment.manifests(kind) for name in named(each)}
    assert set() == committed & found
