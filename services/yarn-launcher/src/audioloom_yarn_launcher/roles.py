"""Who is called what in a gang: ranks go from 0, and each role has a stretch of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

CHIEF = "chief"
WORKER = "worker"


@dataclass(frozen=True)
class Group:
    """So many of a role, one after the other in the order of ranks."""

    role: str
    count: int


@dataclass(frozen=True)
class Task:
    """What a rank is called: `TF_CONFIG` numbers each role from 0."""

    role: str
    index: int


def of_workers(size: int, *, chief: bool) -> tuple[Group, ...]:
    """A gang of workers, of which the first may be called the chief."""
    if not chief:
        return (Group(WORKER, size),)
    return (Group(CHIEF, 1), Group(WORKER, size - 1)) if size > 1 else (Group(CHIEF, 1),)


def task(groups: Sequence[Group], rank: int) -> Task:
    """What the one of this rank is called."""
    left = rank
    for group in groups:
        if left < group.count:
            return Task(group.role, left)
        left -= group.count
    raise IndexError(f"there is no rank {rank} among {groups}")


def by_role(groups: Sequence[Group], addresses: Sequence[str]) -> dict[str, list[str]]:
    """The addresses of each role, from those of all ranks."""
    found: dict[str, list[str]] = {}
    first = 0
    for group in groups:
        found[group.role] = list(addresses[first : first + group.count])
        first += group.count
    return found


def leader(groups: Sequence[Group]) -> Task:
    """Who writes for all: the chief, or the first worker where none is called so."""
    return Task(CHIEF if any(group.role == CHIEF for group in groups) else WORKER, 0)
