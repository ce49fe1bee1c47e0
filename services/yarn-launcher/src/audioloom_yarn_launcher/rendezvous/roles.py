"""The roles of a run; ranks go from 0, and each role has a range of them.

Chief, workers and parameter servers are the cluster in TF_CONFIG: they start and end as one gang.
Evaluators and TensorBoard are sidecars with the last ranks: each starts when the gang is first
complete and is restarted by itself. The gang does not know its sidecars.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

CHIEF, WORKER, PS, EVALUATOR = "chief", "worker", "ps", "evaluator"
TENSORBOARD = "tensorboard"
ROLES = (CHIEF, WORKER, PS, EVALUATOR, TENSORBOARD)
"""In the order of their ranks."""
SIDECARS = frozenset({EVALUATOR, TENSORBOARD})


@dataclass(frozen=True)
class Group:
    """The workers of one role, with consecutive ranks.

    Args:
        command: their command, if it differs from the plan's.
        must_finish: the job is not done before they are.
        may_fail: the job continues when one of them fails or is lost.
        ends_job: the job is done as soon as all of them have succeeded.
        max_restarts: for sidecars: number of restarts of each.
    """

    role: str
    count: int
    command: tuple[str, ...] = ()
    must_finish: bool = True
    may_fail: bool = False
    ends_job: bool = False
    max_restarts: int = 0

    @property
    def sidecar(self) -> bool:
        """Whether the workers of this role are sidecars."""
        return self.role in SIDECARS


@dataclass(frozen=True)
class Policy:
    """The ranks that decide how a generation ends."""

    must_finish: frozenset[int]
    may_fail: frozenset[int]
    ends_job: frozenset[int]


def of_workers(size: int, *, chief: bool = False) -> tuple[Group, ...]:
    """The roles of a gang without a job file; the first worker may be the chief."""
    if not chief:
        return (Group(WORKER, size),)
    return (Group(CHIEF, 1), Group(WORKER, size - 1)) if size > 1 else (Group(CHIEF, 1),)


def size_of(groups: Sequence[Group]) -> int:
    """Number of workers in all."""
    return sum(group.count for group in groups)


def gang_groups(groups: Sequence[Group]) -> tuple[Group, ...]:
    """The roles that start and end as one gang."""
    return tuple(group for group in groups if not group.sidecar)


def tasks(groups: Sequence[Group]) -> list[tuple[Group, int]]:
    """The role of each rank, and its number within the role, from 0 as in `TF_CONFIG`."""
    return [(group, index) for group in groups for index in range(group.count)]


def ranks_of(groups: Sequence[Group], wanted: Callable[[Group], bool]) -> list[int]:
    """The ranks of the wanted groups, in order."""
    return [rank for rank, (group, _) in enumerate(tasks(groups)) if wanted(group)]


def policy(groups: Sequence[Group]) -> Policy:
    """The ranks that decide how a generation ends."""
    return Policy(
        frozenset(ranks_of(groups, lambda group: group.must_finish)),
        frozenset(ranks_of(groups, lambda group: group.may_fail)),
        frozenset(ranks_of(groups, lambda group: group.ends_job)),
    )


def by_role(groups: Sequence[Group], addresses: Sequence[str]) -> dict[str, list[str]]:
    """The addresses of each role in the cluster, from the gang's addresses by rank."""
    found: dict[str, list[str]] = {}
    for (group, _), address in zip(tasks(gang_groups(groups)), addresses, strict=False):
        found.setdefault(group.role, []).append(address)
    return found


def leads(groups: Sequence[Group], rank: int) -> bool:
    """Whether this rank writes for all: the chief, else the first worker."""
    leader = CHIEF if any(group.role == CHIEF for group in groups) else WORKER
    group, index = tasks(groups)[rank]
    return (group.role, index) == (leader, 0)
