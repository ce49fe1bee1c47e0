"""The environment that tells a program who it is in its gang.

TF_CONFIG is all that TensorFlow needs. Scripts that were written for TonY also look at variables
of its own, so these are set too: JOB_NAME, TASK_INDEX, TASK_NUM, CLUSTER_SPEC, IS_CHIEF, TB_PORT.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from audioloom_yarn_launcher.rendezvous.messages import Plan, Roster
from audioloom_yarn_launcher.rendezvous.roles import by_role, leader, task
from audioloom_yarn_launcher.system.redaction import VARIABLE as SECRETS

PAGE_PORT = "TB_PORT"
_NOT_ITS_OWN = (PAGE_PORT, SECRETS)


def cluster(plan: Plan, roster: Roster) -> dict[str, list[str]]:
    """The addresses of each role."""
    return by_role(plan.groups, [member.address for member in roster.members])


def tf_config(plan: Plan, roster: Roster, rank: int) -> str:
    """TF_CONFIG for the worker of this rank."""
    mine = task(plan.groups, rank)
    return json.dumps(
        {
            "cluster": cluster(plan, roster),
            "task": {"type": mine.role, "index": mine.index},
        }
    )


def leads(plan: Plan, rank: int) -> bool:
    """Whether the worker of this rank is the one that writes for all."""
    return task(plan.groups, rank) == leader(plan.groups)


def marker(plan: Plan, runs_in: str, generation: int) -> str:
    """What marks all that a worker runs in a generation; begins with what marks the gang.

    Args:
        plan: of the gang.
        runs_in: what no other worker of the launch ever runs in.
        generation: the one.
    """
    return f"{plan.marker}/{runs_in}/{generation}/"


def environment(
    base: Mapping[str, str], plan: Plan, roster: Roster, rank: int, page_port: int | None = None
) -> dict[str, str]:
    """The environment of the command: what the worker has, and who it is.

    Args:
        base: what the worker has.
        plan: of the gang.
        roster: who runs.
        rank: of the worker.
        page_port: a port for a page of its own, for who leads and for TensorBoard.
    """
    mine = task(plan.groups, rank)
    found = {
        "PYTHONUNBUFFERED": "1",  # so that its log is there before it ends; may be set otherwise
        **{name: value for name, value in base.items() if name not in _NOT_ITS_OWN},
        "TF_CONFIG": tf_config(plan, roster, rank),
        "TF_GRPC_REUSE_PORT": "true",
        "JOB_NAME": mine.role,
        "TASK_INDEX": str(mine.index),
        "TASK_NUM": str(len(roster.members)),
        "CLUSTER_SPEC": json.dumps(cluster(plan, roster)),
        "IS_CHIEF": str(leads(plan, rank)).lower(),
        "AUDIOLOOM_RUN_FOLDER": plan.folder,
        "AUDIOLOOM_RUN_ATTEMPT": str(roster.attempt),
        "AUDIOLOOM_RUN_GENERATION": str(roster.generation),
    }
    return found if page_port is None else {**found, PAGE_PORT: str(page_port)}
