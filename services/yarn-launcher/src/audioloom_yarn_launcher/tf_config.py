"""The environment that tells a program who it is in its gang."""

from __future__ import annotations

import json
from collections.abc import Mapping

from audioloom_yarn_launcher.gang import Plan, Roster
from audioloom_yarn_launcher.processes import MARKER


def tf_config(roster: Roster, rank: int) -> str:
    """TF_CONFIG for the worker of this rank."""
    return json.dumps(
        {
            "cluster": {"worker": [member.address for member in roster.members]},
            "task": {"type": "worker", "index": rank},
        }
    )


def marker(plan: Plan, roster: Roster, rank: int) -> str:
    """What marks all that a worker runs in a generation; begins with what marks the gang."""
    return f"{plan.marker}/{roster.members[rank].id}/{roster.generation}/"


def environment(base: Mapping[str, str], plan: Plan, roster: Roster, rank: int) -> dict[str, str]:
    """The environment of the command: what the worker has, and who it is."""
    return {
        "PYTHONUNBUFFERED": "1",  # so that its log is there before it ends; may be set otherwise
        **base,
        "TF_CONFIG": tf_config(roster, rank),
        "TF_GRPC_REUSE_PORT": "true",
        "AUDIOLOOM_RUN_FOLDER": plan.folder,
        "AUDIOLOOM_RUN_ATTEMPT": str(roster.attempt),
        "AUDIOLOOM_RUN_GENERATION": str(roster.generation),
        MARKER: marker(plan, roster, rank),
    }
