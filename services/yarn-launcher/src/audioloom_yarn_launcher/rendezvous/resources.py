"""The resources of a container."""

from dataclasses import dataclass


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

    def fits(self, node: "Resources") -> bool:
        """Whether a node has that much, when it is empty."""
        return (
            self.memory_mb <= node.memory_mb
            and self.vcores <= node.vcores
            and self.gpus <= node.gpus
        )


def mebibytes(size: int) -> int:
    """A number of bytes in MiB, rounded up: YARN counts in them."""
    return -(-size >> 20)
