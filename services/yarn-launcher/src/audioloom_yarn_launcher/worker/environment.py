"""The environment variables that describe a program's place in its gang.

TensorFlow needs only TF_CONFIG. Scripts for TonY also read JOB_NAME, TASK_INDEX, TASK_NUM,
CLUSTER_SPEC, IS_CHIEF and TB_PORT, so these are set too.
"""

import json
from collections.abc import Mapping
from typing import Any

from audioloom_yarn_launcher.rendezvous.messages import Membership, Plan
from audioloom_yarn_launcher.rendezvous.roles import by_role, leads, tasks
from audioloom_yarn_launcher.system.redaction import VARIABLE as SECRETS

PAGE_PORT = "TB_PORT"
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
