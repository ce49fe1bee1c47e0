"""Training runs on the cluster."""

from __future__ import annotations

from collections.abc import Sequence

from deployment import Command, Deployment

ONE_A_NODE = ("--memory", "3200 MiB")
"""Options of the launcher: a node has room for one worker only, so two workers are on two nodes."""


def launch(
    deployment: Deployment,
    shards: str,
    environment: str,
    name: str,
    *options: str,
    epochs: int,
    gang: Sequence[str] = (),
) -> Command:
    """Start a training run of two workers, or go on with it.

    Args:
        deployment: where.
        shards: the manifest of what is trained on.
        environment: the archive that the workers run in.
        name: of the run.
        options: further ones of the trainer.
        epochs: how many.
        gang: further options of the launcher.
    """
    training = ("--epochs", str(epochs), "--batch-size", "32", *options)
    return deployment.start(
        "yarn-launcher",
        *("run", "--on", "yarn", "--workers", "2", "--environment", environment, *gang),
        *("--root", deployment.root, "--name", name, "--"),
        *("audioloom-trainer", "run", shards, *training),
    )
