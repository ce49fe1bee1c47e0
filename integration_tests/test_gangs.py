"""Gangs beside each other and beside the local ones."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from audioloom_quickstart.contents import entries
from deployment import Deployment
from gang_launch import launch
from stage_run import StageRun

pytestmark = pytest.mark.slow
TRY_AGAIN = 75
MODEL = Path(__file__).parent / "without_batch_norm.py"


def weights(deployment: Deployment, manifest: str) -> list[np.ndarray]:
    """The arrays of a trained model, in their order."""
    local = deployment.get(manifest) if manifest.startswith("hdfs:") else manifest
    (entry,) = entries(local, "weights")
    with np.load(entry["file"], allow_pickle=False) as arrays:
        return [arrays[name] for name in arrays.files]


def test_the_same_weights_on_this_machine_and_in_containers(
    deployment: Deployment, sharding: StageRun, environment: str
) -> None:
    """From the same manifest in HDFS, two workers each, without BatchNormalization."""
    model = ("--model", f"{MODEL.name}:build")
    words = ("--files", str(MODEL))
    on_yarn = launch(
        deployment, sharding.manifest, environment, "same", *model, epochs=10, gang=words
    )
    shutil.copy(MODEL, deployment.folder)
    here = deployment.start(
        "yarn-launcher",
        *("run", "--on", "local", "--workers", "2", "--name", "same"),
        *("--root", str(deployment.folder / "local"), "--", deployment.paths["trainer"]),
        *("run", sharding.manifest, "--epochs", "10", "--batch-size", "32", *model),
    )
    ours, theirs = weights(deployment, here.answer()), weights(deployment, on_yarn.answer())
    assert [each.shape for each in ours] == [each.shape for each in theirs]
    furthest = max(float(np.abs(a - b).max()) for a, b in zip(ours, theirs, strict=True))
    assert furthest <= 1e-6


def test_two_launches_at_once_are_one_run(
    deployment: Deployment, sharding: StageRun, environment: str
) -> None:
    """The second waits for the first, and answers the same; there is one attempt."""
    both = [launch(deployment, sharding.manifest, environment, "twice", epochs=2) for _ in range(2)]
    assert 1 == len({each.answer() for each in both})
    deployment.until_quiet()
    assert 1 == len(deployment.status(f"{deployment.root}/runs/twice")["attempts"])


def test_a_container_that_takes_too_much_memory_is_called_that(deployment: Deployment) -> None:
    """By the node's own words, with the exit code that says to try again."""
    eat = "import time; held = [b'x' * (1 << 20) for _ in range(900)]; time.sleep(120)"
    command = deployment.start(
        "yarn-launcher",
        *("run", "--on", "yarn", "--memory", "512 MiB", "--max-restarts", "0"),
        *("--root", deployment.root, "--name", "eater", "--", "python3", "-c", eat),
    )
    code, _ = command.finish()
    assert TRY_AGAIN == code, command.said
    assert "memory" in command.said
    cause = deployment.status(f"{deployment.root}/runs/eater")["attempts"][-1]["cause"]
    assert "memory" in cause
