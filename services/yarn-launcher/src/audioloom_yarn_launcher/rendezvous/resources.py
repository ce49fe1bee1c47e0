"""The resources of a container."""

from __future__ import annotations

from dataclasses import dataclass

_UNITS = {"MiB": 1, "GiB": 1024}


@dataclass(frozen=True)
class Resources:
    """What a container gets.

    Args:
        memory_mb: MiB.
        vcores: virtual cores.
        gpus: `yarn.io/gpu`.
    """

    memory_mb: int
    vcores: int
    gpus: int = 0

    def __str__(self) -> str:
        gpus = f", {self.gpus} GPUs" if self.gpus else ""
        return f"{self.memory_mb} MiB, {self.vcores} vcores{gpus}"

    def fits(self, node: Resources) -> bool:
        """Whether a node has that much, when it is empty."""
        return (
            self.memory_mb <= node.memory_mb
            and self.vcores <= node.vcores
            and self.gpus <= node.gpus
        )


def parse_memory(text: str) -> int:
    """MiB in `2 GiB` or `512 MiB`."""
    return int(text[:-3]) * _UNITS[text[-3:]]
