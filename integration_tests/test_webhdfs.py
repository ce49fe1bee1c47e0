"""A whole pipeline whose root is reached over HTTP alone, as through a firewall or a gateway."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from audioloom_quickstart.programs import read_manifest
from audioloom_quickstart.realdata import PATTERN
from deployment import SPLIT, Deployment


@pytest.fixture(scope="session")
def root(deployment: Deployment) -> str:
    """A folder of the cluster, by the page of its NameNode."""
    path = urlsplit(deployment.root).path
    return f"{deployment.cluster.webhdfs.rstrip('/')}{path}/over-http"


def test_a_pipeline_over_http(deployment: Deployment, voices: Path, root: str) -> None:
    """Each stage reads what the one before has written, and all of it verifies."""
    spark = ("--master", "local[2]")
    recordings = deployment.answer(
        "featurizer", "scan", str(voices), "--root", root, "--pattern", PATTERN
    )
    features = deployment.answer("featurizer", "run", recordings, *spark)
    shards = deployment.answer("sharder", "run", features, "--split", SPLIT, *spark)
    run = deployment.answer("trainer", "run", shards, "--root", root, "--epochs", "2")
    assert all(each.startswith(f"{root}/") for each in (recordings, features, shards, run))
    for stage, manifest in (("featurizer", features), ("sharder", shards), ("trainer", run)):
        deployment.answer(stage, "verify", manifest)
    stats = read_manifest(features)["stats"]
    assert (stats["recordings"], 1) == (stats["extracted"] + 1, stats["refused"])
    records = sum(each["records"] for each in read_manifest(shards)["stats"]["splits"].values())
    assert stats["windows"] == records
    assert {"val", "test"} == read_manifest(run)["stats"]["scores"].keys()
