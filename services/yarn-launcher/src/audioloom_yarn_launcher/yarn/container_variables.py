"""The environment variables of a container: the command's variables, and those that start Docker.

YARN writes the variables of a container into a shell script, unescaped between double quotes: a
quote ends the value, `$NAME` and backticks are executed, `{{NAME}}` is another variable and `<CPS>`
a colon (Hadoop's ContainerLaunch). A PYTHONPATH would mislead other programs of the container. So
these variables are encoded in one variable that only workers read.

Docker needs nodes with LinuxContainerExecutor and Docker as an allowed runtime.
"""

import base64
import json
import re
from collections.abc import Mapping, Sequence

VARIABLE = "AUDIOLOOM_RUN_VARIABLES"
"""JSON in base64, which no script changes."""

ONLY_OURS = ("PYTHONHOME", "PYTHONPATH")
"""Variables of the node or of the launcher's own environment, not for the command."""

_PLAIN = re.compile(r"""(?!.*(?:\{\{|\}\}|<CPS>))[^"$`\\\n\r]*""")
_RUNTIME = "YARN_CONTAINER_RUNTIME_"  # the NodeManager itself reads these, not through the script


def carry(variables: Mapping[str, str]) -> dict[str, str]:
    """Encode the variables that YARN would change, for the environment of a container."""
    plain = {
        name: value
        for name, value in variables.items()
        if name.startswith(_RUNTIME) or (name not in ONLY_OURS and _PLAIN.fullmatch(value))
    }
    wrapped = {name: value for name, value in variables.items() if name not in plain}
    if not wrapped:
        return plain
    return {**plain, VARIABLE: base64.b64encode(json.dumps(wrapped).encode()).decode()}


def unwrap(variables: Mapping[str, str]) -> dict[str, str]:
    """Decode the command's variables from the environment of its container."""
    found = {name: value for name, value in variables.items() if name not in ONLY_OURS}
    wrapped: dict[str, str] = json.loads(base64.b64decode(found.pop(VARIABLE, "")) or "{}")
    return found | wrapped


PREFIX = f"{_RUNTIME}DOCKER_"


def docker_variables(
    image: str | None, mounts: Sequence[str], network: str | None
) -> dict[str, str]:
    """Return the variables that start a container in a Docker image; {} without an image.

    A mount, `SOURCE:DESTINATION`, is read-only by default.
    """
    if image is None:
        return {}
    found = {f"{_RUNTIME}TYPE": "docker", f"{PREFIX}IMAGE": image}
    if mounts:
        whole = (m if m.endswith((":ro", ":rw")) else f"{m}:ro" for m in mounts)
        found[f"{PREFIX}MOUNTS"] = ",".join(whole)
    if network is not None:
        found[f"{PREFIX}CONTAINER_NETWORK"] = network
    return found
