"""Who is called what in a gang: ranks go from 0, and each role has a stretch of them.

Chief, workers and parameter servers are the cluster that TF_CONFIG names: they meet, and end, as
one gang. An evaluator and TensorBoard are beside it, and their ranks come last: each starts when
the gang is first complete, and is started anew by itself; the others do not know of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

CHIEF, WORKER, PS, EVALUATOR = "chief", "worker", "ps", "evaluator"
TENSORBOARD = "tensorboard"
ROLES = (CHIEF, WORKER, PS, EVALUATOR, TENSORBOARD)
"""In the order of their ranks."""
BESIDE = frozenset({EVALUATOR, TENSORBOARD})


@dataclass(frozen=True)
class Group:
    """So many of a role, one after the other in the order of ranks.

    Args:
        role: which.
        count: how many.
        command: what they run, if it is not what the plan says.
        must_finish: the job is not done before they are.
        may_fail: the job goes on when one of them fails or is lost.
        ends_job: the job is done when all of them have finished well, whoever else is at work.
        max_restarts: how often one of them is started anew by itself, if they are beside the gang.
    """

    role: str
    count: int
    command: tuple[str, ...] = ()
    must_finish: bool = True
    may_fail: bool = False
    ends_job: bool = False
    max_restarts: int = 0

    @property
    def beside(self) -> bool:
        """Whether they are beside the gang, each for itself."""
        return self.role in BESIDE


@dataclass(frozen=True)
class Task:
    """What a rank is called: `TF_CONFIG` numbers each role from 0."""

    role: str
    index: int


@dataclass(frozen=True)
class Policy:
    """Which ranks decide how a generation ends."""

    must_finish: frozenset[int]
    may_fail: frozenset[int]
    ends_job: frozenset[int]


def of_workers(size: int, *, chief: bool) -> tuple[Group, ...]:
    """A gang of workers, of which the first may be called the chief."""
    if not chief:
        return (Group(WORKER, size),)
    return (Group(CHIEF, 1), Group(WORKER, size - 1)) if size > 1 else (Group(CHIEF, 1),)


def size_of(groups: Sequence[Group]) -> int:
    """How many there are in all."""
    return sum(group.count for group in groups)


def of_the_gang(groups: Sequence[Group]) -> tuple[Group, ...]:
    """Those that meet and end as one."""
    return tuple(group for group in groups if not group.beside)


def beside(groups: Sequence[Group]) -> tuple[Group, ...]:
    """Those that start and end each for itself."""
    return tuple(group for group in groups if group.beside)


def ranks_of(groups: Sequence[Group], wanted: Callable[[Group], bool]) -> list[int]:
    """The ranks of the groups that are wanted, in order."""
    return [rank for rank, group in enumerate(by_rank(groups)) if wanted(group)]


def by_rank(groups: Sequence[Group]) -> list[Group]:
    """The group of each rank."""
    return [group for group in groups for _ in range(group.count)]


def policy(groups: Sequence[Group]) -> Policy:
    """Which ranks decide how a generation ends."""
    return Policy(
        frozenset(ranks_of(groups, lambda group: group.must_finish)),
        frozenset(ranks_of(groups, lambda group: group.may_fail)),
        frozenset(ranks_of(groups, lambda group: group.ends_job)),
    )


def group_of(groups: Sequence[Group], rank: int) -> Group:
    """The group that the one of this rank belongs to."""
    return _find(groups, rank)[0]


def task(groups: Sequence[Group], rank: int) -> Task:
    """What the one of this rank is called."""
    group, index = _find(groups, rank)
    return Task(group.role, index)


def by_role(groups: Sequence[Group], addresses: Sequence[str]) -> dict[str, list[str]]:
    """The addresses of each role in the cluster, from those of its ranks."""
    found: dict[str, list[str]] = {}
    first = 0
    for group in of_the_gang(groups):
        found[group.role] = list(addresses[first : first + group.count])
        first += group.count
    return found


def leader(groups: Sequence[Group]) -> Task:
    """Who writes for all: the chief, or the first worker where none is called so."""
    return Task(CHIEF if any(group.role == CHIEF for group in groups) else WORKER, 0)


def _find(groups: Sequence[Group], rank: int) -> tuple[Group, int]:
    left = rank
    for group in groups:
        if left < group.count:
            return group, left
        left -= group.count
    raise IndexError(f"there is no rank {rank} among {groups}")
