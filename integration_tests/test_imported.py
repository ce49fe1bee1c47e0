"""Windows from other people's data: what is trained on is what the featurizer would have made."""

from __future__ import annotations

import pytest
from audioloom_quickstart.contents import entries
from audioloom_quickstart.programs import read_manifest
from deployment import SPLIT, Deployment
from stage_run import StageRun

SPARK = ("--master", "local[2]")


@pytest.fixture(scope="session")
def imported(deployment: Deployment, featurizing: StageRun) -> str:
    """The windows of the features, as a folder of Parquet files that anyone may have written."""
    folder = featurizing.manifest.rpartition("/")[0]
    shape = "x".join(map(str, read_manifest(featurizing.manifest)["recipe"]["feature"]["shape"]))
    window = ("--feature-name", "mfcc", "--shape", shape, "--window-seconds", "10")
    root = ("--root", f"{deployment.root}/imported")
    return deployment.answer("featurizer", "import", f"{folder}/features", *window, *root)


@pytest.fixture(scope="session")
def shards(deployment: Deployment, imported: str) -> str:
    """Their shards."""
    return deployment.answer("sharder", "run", imported, "--split", SPLIT, *SPARK)


def test_imported_windows_make_the_same_shards(
    deployment: Deployment, imported: str, shards: str, sharding: StageRun
) -> None:
    """Byte for byte, and both manifests verify."""
    expected, found = (
        {(each["path"].rpartition("/")[2], each["sha256"]) for each in entries(copy, "shard")}
        for copy in (deployment.get(sharding.manifest), deployment.get(shards))
    )
    assert expected
    assert expected == found
    deployment.answer("featurizer", "verify", imported)
    deployment.answer("sharder", "verify", shards)


@pytest.mark.slow
def test_imported_windows_give_the_same_scores(
    deployment: Deployment, shards: str, sharding: StageRun
) -> None:
    """A network that was trained on them is as good, to the last digit."""
    scores = []
    for number, each in enumerate((sharding.manifest, shards)):
        root = ("--root", f"{deployment.root}/trained-{number}")
        run = deployment.answer("trainer", "run", each, *root, "--epochs", "2")
        scores.append(read_manifest(run)["stats"]["scores"])
    assert {"val", "test"} == scores[0].keys()
    assert scores[0] == scores[1]
