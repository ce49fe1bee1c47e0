"""Daemons that are killed while a stage works, and are there again later."""

from pathlib import Path

import pytest
from deployment import Deployment, until
from launching import launch
from made import WORKING, Made

pytestmark = pytest.mark.slow
SERVICE_DOWN, TRY_AGAIN = 69, 75


@pytest.fixture(scope="module")
def many(deployment: Deployment, voices: Path) -> str:
    """The manifest of all 1,705 recordings, which keep two executors busy for a while."""
    return deployment.scan(voices.parent / "everything", "everything")


def test_a_datanode_is_lost_while_featurizing(deployment: Deployment, many: str) -> None:
    """The other replica of each block is read, and what is made verifies."""
    command = deployment.start("featurizer", "run", many, "--master", "yarn", "--name", "lost")
    command.until_said(WORKING)
    with deployment.cluster.without("datanode-1"):
        manifest = command.answer()
        deployment.answer("featurizer", "verify", manifest)


def test_the_namenode_is_restarted_while_featurizing(deployment: Deployment, many: str) -> None:
    """The run goes on, or says that a service is down and a rerun makes it whole."""
    words = ("featurizer", "run", many, "--master", "yarn", "--name", "restarted")
    command = deployment.start(*words)
    command.until_said(WORKING)
    with deployment.cluster.without("namenode"):
        pass
    code, manifest = command.finish()
    if code != 0:
        assert code in (SERVICE_DOWN, TRY_AGAIN), command.said
        manifest = deployment.answer(*words)
    deployment.answer("featurizer", "verify", manifest)


def test_a_datanode_is_lost_while_shards_are_staged(
    deployment: Deployment, sharding: Made, environment: str
) -> None:
    """Workers copy their shards from the other node."""
    command = launch(deployment, sharding.manifest, environment, "staged", epochs=2)
    command.until_said("the gang is complete")
    with deployment.cluster.without("datanode-2"):
        command.answer()


def test_a_nodemanager_is_lost_while_training(
    deployment: Deployment, sharding: Made, environment: str
) -> None:
    """The gang goes on where there is a node; or the run says "try again", and that succeeds."""
    command = launch(deployment, sharding.manifest, environment, "moved", epochs=200)
    command.until_said("the gang is complete")
    run = f"{deployment.root}/runs/moved"
    until(lambda: deployment.step(run), "a step")
    with deployment.cluster.without("nodemanager-2"):
        code, manifest = command.finish()
    if code != 0:
        assert code == TRY_AGAIN, command.said
        manifest = launch(deployment, sharding.manifest, environment, "moved", epochs=200).answer()
    assert f"{run}/manifest.json" == manifest
    deployment.until_quiet()
    assert "finished" == deployment.status(run)["attempts"][-1]["outcome"]
