"""The environment variables that describe a program's place in its gang, and its secrets.

The masked words of a command travel in a variable that workers do not pass on to the command.
TensorFlow needs only TF_CONFIG. Scripts for TonY also read JOB_NAME, TASK_INDEX, TASK_NUM,
CLUSTER_SPEC, IS_CHIEF and TB_PORT, so these are set too.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from audioloom_stage.redaction import redact_words

from audioloom_yarn_launcher.rendezvous.messages import Membership, Plan
from audioloom_yarn_launcher.rendezvous.roles import by_role, leads, tasks

PAGE_PORT = "TB_PORT"
SECRETS = "AUDIOLOOM_RUN_SECRETS"
"""For workers: what the masked words are, by their place in the command, as JSON."""
_NOT_ITS_OWN = (PAGE_PORT, SECRETS)


def tf_config(plan: Plan, membership: Membership, rank: int) -> dict[str, Any]:
    """Make the value of TF_CONFIG for the worker of this rank."""
    group, index = tasks(plan.roles)[rank]
    return {
        "cluster": by_role(plan.roles, [member.address for member in membership.members]),
        "task": {"type": group.role, "index": index},
    }


def marker(plan: Plan, runs_in: str, generation: int) -> str:
    """Make the marker of a worker's processes in a generation; the gang's marker is its beginning.

    The id *runs_in* of a container or worker is unique in the launch.
    """
    return f"{plan.marker}/{runs_in}/{generation}/"


def environment(
    base: Mapping[str, str],
    plan: Plan,
    membership: Membership,
    rank: int,
    page_port: int | None = None,
) -> dict[str, str]:
    """Make the command's environment: the worker's own, and the command's place in its gang.

    The leader and TensorBoard have a port for a web page.
    """
    config = tf_config(plan, membership, rank)
    found = {
        "PYTHONUNBUFFERED": "1",  # makes the log complete; the user may override it
        **{name: value for name, value in base.items() if name not in _NOT_ITS_OWN},
        "TF_CONFIG": json.dumps(config),
        "TF_GRPC_REUSE_PORT": "true",
        "JOB_NAME": config["task"]["type"],
        "TASK_INDEX": str(config["task"]["index"]),
        "TASK_NUM": str(len(membership.members)),
        "CLUSTER_SPEC": json.dumps(config["cluster"]),
        "IS_CHIEF": str(leads(plan.roles, rank)).lower(),
        "AUDIOLOOM_RUN_FOLDER": plan.folder,
        "AUDIOLOOM_RUN_ATTEMPT": str(membership.attempt),
        "AUDIOLOOM_RUN_GENERATION": str(membership.generation),
    }
    return found if page_port is None else {**found, PAGE_PORT: str(page_port)}


def hidden(command: Sequence[str]) -> dict[str, str]:
    """Encode the words that `redact_words` masks as a variable for workers; {} without any."""
    masked = redact_words(command)
    words = {str(place): word for place, word in enumerate(command) if masked[place] != word}
    if not words:
        return {}
    return {SECRETS: json.dumps(words)}


def restore(command: Sequence[str], variables: Mapping[str, str]) -> tuple[str, ...]:
    """Restore the words that `redact_words` masked, from the variable that `hidden` made."""
    words = json.loads(variables.get(SECRETS, "{}"))
    return tuple(words.get(str(place), word) for place, word in enumerate(command))
