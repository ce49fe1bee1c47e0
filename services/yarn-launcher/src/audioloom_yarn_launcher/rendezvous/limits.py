"""The time limits of a run, and the resources of its containers."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

FROZEN_S = 10.0
"""The usual time without heartbeats after which a worker counts as frozen."""


@dataclass(frozen=True)
class Limits:
    """Limits in seconds, each measured by the coordinator's own clock.

    Args:
        registration_s: from when all workers have a container until all have registered.
        allocation_s: from the request until all workers have a container.
        execution_s: time in which the gang is complete and works, over all attempts.
    """

    registration_s: float
    allocation_s: float = math.inf
    execution_s: float = math.inf

    def after(self, executed_s: float) -> "Limits":
        """Return the limits of the next attempt, after *executed_s* seconds of work."""
        return replace(self, execution_s=max(0.0, self.execution_s - executed_s))


@dataclass(frozen=True)
class Resources:
    """The resources of one container."""

    memory_mb: int
    vcores: int
    gpus: int = 0

    def __str__(self) -> str:
        gpus = f", {self.gpus} GPUs" if self.gpus else ""
        return f"{self.memory_mb} MiB, {self.vcores} vcores{gpus}"

    def fits(self, node: "Resources") -> bool:
        """Return whether an empty node has these resources."""
        return (
            self.memory_mb <= node.memory_mb
            and self.vcores <= node.vcores
            and self.gpus <= node.gpus
        )


def in_all(parts: Iterable[tuple[int, Resources]]) -> Resources:
    """Add up the resources of so many containers of each kind."""
    every = [*parts]
    return Resources(
        sum(count * each.memory_mb for count, each in every),
        sum(count * each.vcores for count, each in every),
        sum(count * each.gpus for count, each in every),
    )


def mebibytes(size: int) -> int:
    """Convert bytes to MiB, YARN's unit, rounded up."""
    return -(-size >> 20)
