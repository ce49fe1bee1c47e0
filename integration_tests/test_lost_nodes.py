"""Daemons that are killed while a stage works, and are there again later."""

from pathlib import Path

import pytest
from deployment import Deployment, until
from gang_launch import ONE_A_NODE, launch
from stage_run import WORKING, StageRun

pytestmark = pytest.mark.slow
SERVICE_DOWN = 69


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


def test_the_namenode_is_away_while_featurizing(deployment: Deployment, many: str) -> None:
    """A run outlives no longer absence: it says that a service is down, and a rerun goes on."""
    words = ("featurizer", "run", many, "--master", "yarn", "--name", "restarted")
    command = deployment.start(*words)
    command.until_said(WORKING)
    with deployment.cluster.without("namenode"):
        assert (SERVICE_DOWN, "") == command.finish(), command.said
    deployment.answer("featurizer", "verify", deployment.answer(*words))


def test_a_datanode_is_lost_while_shards_are_staged(
    deployment: Deployment, sharding: StageRun, environment: str
) -> None:
    """Workers copy their shards from the other node."""
    command = launch(deployment, sharding.manifest, environment, "staged", epochs=2)
    command.until_said("the gang is complete")
    with deployment.cluster.without("datanode-2"):
        command.answer()


@pytest.mark.parametrize("with_master", [False, True], ids=["without-master", "with-master"])
def test_a_nodemanager_is_lost_while_training(
    deployment: Deployment, sharding: StageRun, environment: str, *, with_master: bool
) -> None:
    """The gang waits for a node with room, and then goes on from its last checkpoint."""
    name = "moved-with-master" if with_master else "moved"
    options = (deployment, sharding.manifest, environment, name)
    command = launch(*options, epochs=200, gang=ONE_A_NODE)
    command.until_said("the gang is complete")
    run = f"{deployment.root}/runs/{name}"
    until(lambda: deployment.step(run), "a step")
    nodes = deployment.cluster.nodes
    lost = 1 + next(i for i in range(2) if (nodes[i] == host_of_master(deployment)) == with_master)
    with deployment.cluster.without(f"nodemanager-{lost}"):
        until(lambda: deployment.status(run)["attempts"][0]["outcome"] == "failed", "it is noticed")
    assert f"{run}/manifest.json" == command.answer()
    deployment.until_quiet()
    outcomes = [each["outcome"] for each in deployment.status(run)["attempts"]]
    assert ["failed", "finished"] == outcomes


def host_of_master(deployment: Deployment) -> str:
    """The node of the only application's master."""
    (application,) = deployment.cluster.applications()
    found = deployment.cluster.ask(f"/ws/v1/cluster/apps/{application}")["app"]
    return str(found["amHostHttpAddress"]).rpartition(":")[0]
