"""Docker on YARN: what the flags become, which is variables that a NodeManager reads.

The nodes must be set up for it (LinuxContainerExecutor, and Docker among the allowed runtimes).
"""

from __future__ import annotations

from collections.abc import Sequence

_RUNTIME = "YARN_CONTAINER_RUNTIME_"
PREFIX = f"{_RUNTIME}DOCKER_"


def docker_variables(
    image: str | None, mounts: Sequence[str], network: str | None
) -> dict[str, str]:
    """The variables of a container that is to run in an image; {} without one.

    Args:
        image: its name.
        mounts: `SOURCE:DESTINATION`, with `:ro` or `:rw`; read-only if it does not say.
        network: its name.
    """
    if image is None:
        return {}
    found = {f"{_RUNTIME}TYPE": "docker", f"{PREFIX}IMAGE": image}
    if mounts:
        found[f"{PREFIX}MOUNTS"] = ",".join(map(_whole, mounts))
    if network is not None:
        found[f"{PREFIX}CONTAINER_NETWORK"] = network
    return found


def _whole(mount: str) -> str:
    return mount if mount.endswith((":ro", ":rw")) else f"{mount}:ro"
