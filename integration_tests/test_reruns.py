"""Each stage alone, from the manifest before it; and everything from a copy of the tree."""

import json
from typing import Any

import pytest
from audioloom_quickstart.programs import read_manifest
from deployment import SPLIT, Deployment
from stage_run import StageRun

pytestmark = pytest.mark.slow


def digest(manifest: str) -> tuple[str, str, Any]:
    """What may not change when a stage is run again: name, identity, checksums of the data."""
    read = read_manifest(manifest)
    return read["name"], read["identity"], read["files"]


def remade(deployment: Deployment, manifest: str, *command: str) -> None:
    """Delete what a stage has made, and let it make that again."""
    before = digest(manifest)
    deployment.answer("hdfs", "dfs", "-rm", "-r", "-skipTrash", manifest.rpartition("/")[0])
    assert manifest == deployment.answer(*command)
    assert before == digest(manifest)


def test_the_featurizer_alone(
    deployment: Deployment, recordings: str, featurizing: StageRun, sharding: StageRun
) -> None:
    """Other executors, other order: the same bytes, and the sharder has nothing to do."""
    options = ("--master", "yarn", "--executors", "1", "--executor-cores", "1")
    remade(deployment, featurizing.manifest, "featurizer", "run", recordings, *options)
    again = deployment.start("sharder", "run", featurizing.manifest, "--split", SPLIT)
    assert sharding.manifest == again.answer()
    assert "already committed" in again.said


def test_the_sharder_alone(
    deployment: Deployment, featurizing: StageRun, sharding: StageRun
) -> None:
    """On this machine instead of the cluster: the same bytes."""
    options = ("--split", SPLIT, "--master", "local[2]")
    remade(deployment, sharding.manifest, "sharder", "run", featurizing.manifest, *options)


def test_a_copy_of_the_tree_verifies_and_trains(
    deployment: Deployment, featurizing: StageRun, sharding: StageRun
) -> None:
    """Below another root, with the first one out of sight: nothing points back."""
    copy = f"{deployment.cluster.base}/copy"
    deployment.answer("hdfs", "dfs", "-mkdir", copy)
    for kind in ("recordings", "features", "shards"):
        deployment.answer("hdfs", "dfs", "-cp", f"{deployment.root}/{kind}", copy)
    features, shards = (
        manifest.replace(deployment.root, copy)
        for manifest in (featurizing.manifest, sharding.manifest)
    )
    deployment.answer("hdfs", "dfs", "-mv", deployment.root, f"{deployment.root}-away")
    try:
        deployment.answer("featurizer", "verify", features)
        deployment.answer("sharder", "verify", shards)
        run = deployment.answer("trainer", "run", shards, "--epochs", "1")
        assert run.startswith(f"{copy}/runs/")
        assert json.loads(deployment.answer("trainer", "inspect", "--json", run))
    finally:
        deployment.answer("hdfs", "dfs", "-mv", f"{deployment.root}-away", deployment.root)
