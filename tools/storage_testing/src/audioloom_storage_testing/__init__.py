"""Faults and counts for tests: power cuts, unreliable storages, calls of a NameNode.

Product code imports none of them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from audioloom_storage_testing.counting import Call, CountingStore
from audioloom_storage_testing.crashes import (
    VARIABLE,
    Crashed,
    CrashPlan,
    Steps,
    arm_from_environment,
    steps,
)
from audioloom_storage_testing.memory import MemoryStore
from audioloom_storage_testing.schedule import Ended, Schedule
from audioloom_storage_testing.unreliable import UnreliableStore

__all__ = [
    "VARIABLE",
    "Call",
    "CountingStore",
    "CrashPlan",
    "Crashed",
    "Ended",
    "MemoryStore",
    "Schedule",
    "Steps",
    "UnreliableStore",
    "install_from_environment",
    "steps",
]


def install_from_environment(environment: Mapping[str, str] = os.environ) -> None:
    """Install the faults or the counts that the `environment` of one of these put there, for good.

    For a sitecustomize, a conftest or a worker hook of a test.

    Raises:
        ValueError: the variable of a fault is set, and is not of its form.
    """
    arm_from_environment(environment)
    UnreliableStore.install_from_environment(environment)
    CountingStore.install_from_environment(environment)
