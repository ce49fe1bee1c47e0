"""A stage that was killed on the way, and then started twice at once."""

from __future__ import annotations

from dataclasses import dataclass

from deployment import Deployment, until

WORKING = "Spark runs on YARN"


@dataclass(frozen=True)
class Made:
    """How it went.

    Args:
        left_by_killed: how many more manifests were there after the kill.
        answers: of the two that were started together.
        said: what these told beside.
    """

    left_by_killed: int
    answers: list[str]
    said: list[str]

    @property
    def manifest(self) -> str:
        """The one there is."""
        (manifest,) = set(self.answers)
        return manifest


def killed_then_twice(deployment: Deployment, folder: str, *command: str) -> Made:
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
    return Made(left, [each.answer() for each in both], [each.said for each in both])
