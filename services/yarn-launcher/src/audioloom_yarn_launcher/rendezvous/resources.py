"""The resources of a container."""

from dataclasses import dataclass


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


def mebibytes(size: int) -> int:
    """Convert bytes to MiB, YARN's unit, rounded up."""
    return -(-size >> 20)
