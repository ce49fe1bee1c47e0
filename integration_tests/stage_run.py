"""What a stage made on the cluster: undisturbed, or killed on the way and then started twice."""

from __future__ import annotations

from dataclasses import dataclass

from deployment import Deployment, until

WORKING = "Spark runs on YARN"


@dataclass(frozen=True)
class StageRun:
    """How it went.

    Args:
        answers: of the command, or of the two that were started together.
        said: what these told beside.
        left_by_killed: how many more manifests were there after the kill; None without one.
    """

    answers: list[str]
    said: list[str]
    left_by_killed: int | None = None

    @property
    def manifest(self) -> str:
        """The one there is."""
        (manifest,) = set(self.answers)
        return manifest


def undisturbed(deployment: Deployment, *command: str) -> StageRun:
    """Run a stage once."""
    only = deployment.start(*command)
    return StageRun([only.answer()], [only.said])


def killed_then_twice(deployment: Deployment, folder: str, *command: str) -> StageRun:
    """Run a stage three times: the first is killed, the other two are started together.

    Args:
        deployment: where.
        folder: of the root, that it writes to.
        command: the program, and its arguments.
    """
    before = set(deployment.manifests(folder))  # of other tests
    killed = deployment.start(*command)
    killed.until_said(WORKING)
    killed.kill()
    until(lambda: not deployment.cluster.applications(), "the application notices")
    left = len(set(deployment.manifests(folder)) - before)
    both = [deployment.start(*command) for _ in range(2)]
    return StageRun([each.answer() for each in both], [each.said for each in both], left)
