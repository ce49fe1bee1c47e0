"""The command's variables, carried to its containers whole.

YARN writes the variables of a container into a script of shell, between double quotes and as they
are: a quote ends them there, `$NAME` and backticks are carried out, `{{NAME}}` is another variable
and `<CPS>` a colon (Hadoop's ContainerLaunch). And a PYTHONPATH would lead other programs of the
container astray. Such variables travel beside the others, in one that workers alone read.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping

VARIABLE = "AUDIOLOOM_RUN_VARIABLES"
"""JSON in base64, which no script changes."""

ONLY_OURS = ("PYTHONHOME", "PYTHONPATH")
"""Of the node, or of the launcher's own environment: not for the command."""

_PLAIN = re.compile(r"""(?!.*(?:\{\{|\}\}|<CPS>))[^"$`\\\n\r]*""")
_FOR_YARN = "YARN_CONTAINER_RUNTIME_"  # its NodeManager takes these as they are, before any script


def carry(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables as a container may be given them: what would not arrive whole is wrapped up."""
    wrapped = {name: value for name, value in variables.items() if not _arrives(name, value)}
    plain = {name: value for name, value in variables.items() if name not in wrapped}
    if not wrapped:
        return plain
    return {**plain, VARIABLE: base64.b64encode(json.dumps(wrapped).encode()).decode()}


def unwrap(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables of the command, of those that its container has: `carry` undone."""
    found = {name: value for name, value in variables.items() if name not in ONLY_OURS}
    wrapped: dict[str, str] = json.loads(base64.b64decode(found.pop(VARIABLE, "")) or "{}")
    return found | wrapped


def _arrives(name: str, value: str) -> bool:
    if name.startswith(_FOR_YARN):
        return True
    return name not in ONLY_OURS and _PLAIN.fullmatch(value) is not None
