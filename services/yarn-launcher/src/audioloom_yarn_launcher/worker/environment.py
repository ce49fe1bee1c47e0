"""The environment variables that describe a program's place in its gang.

TensorFlow needs only TF_CONFIG. Scripts for TonY also read JOB_NAME, TASK_INDEX, TASK_NUM,
CLUSTER_SPEC, IS_CHIEF and TB_PORT, so these are set too.
"""

import json
from collections.abc import Mapping

from audioloom_yarn_launcher.rendezvous.messages import Membership, Plan
from audioloom_yarn_launcher.rendezvous.roles import by_role, leads, tasks
from audioloom_yarn_launcher.system.redaction import VARIABLE as SECRETS

PAGE_PORT = "TB_PORT"
_NOT_ITS_OWN = (PAGE_PORT, SECRETS)


def cluster(plan: Plan, membership: Membership) -> dict[str, list[str]]:
    """Return the addresses of each role."""
    return by_role(plan.roles, [member.address for member in membership.members])


def tf_config(plan: Plan, membership: Membership, rank: int) -> str:
    """Make TF_CONFIG for the worker of this rank."""
    group, index = tasks(plan.roles)[rank]
    return json.dumps(
        {
            "cluster": cluster(plan, membership),
            "task": {"type": group.role, "index": index},
        }
    )


def marker(plan: Plan, runs_in: str, generation: int) -> str:
    """Make the marker of a worker's processes in a generation; the gang's marker is its beginning.

    Args:
        plan: plan of the gang.
        runs_in: id of a container or worker, unique in the launch.
        generation: number of the generation.
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

    Args:
        base: environment of the worker.
        plan: plan of the gang.
        membership: workers of the generation.
        rank: rank of the worker.
        page_port: port for a web page, for the leader and for TensorBoard.
    """
    group, index = tasks(plan.roles)[rank]
    found = {
        "PYTHONUNBUFFERED": "1",  # makes the log complete; the user may override it
        **{name: value for name, value in base.items() if name not in _NOT_ITS_OWN},
        "TF_CONFIG": tf_config(plan, membership, rank),
        "TF_GRPC_REUSE_PORT": "true",
        "JOB_NAME": group.role,
        "TASK_INDEX": str(index),
        "TASK_NUM": str(len(membership.members)),
        "CLUSTER_SPEC": json.dumps(cluster(plan, membership)),
        "IS_CHIEF": str(leads(plan.roles, rank)).lower(),
        "AUDIOLOOM_RUN_FOLDER": plan.folder,
        "AUDIOLOOM_RUN_ATTEMPT": str(membership.attempt),
        "AUDIOLOOM_RUN_GENERATION": str(membership.generation),
    }
    return found if page_port is None else {**found, PAGE_PORT: str(page_port)}
