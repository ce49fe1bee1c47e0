"""What the coordinator makes of what it sees: nothing but a function of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from audioloom_yarn_launcher.coordinator.failure_detector import Silence
from audioloom_yarn_launcher.rendezvous.messages import Member, Reports, Roster
from audioloom_yarn_launcher.rendezvous.roles import Policy


@dataclass(frozen=True)
class Wait:
    """Nothing is to be done."""


@dataclass(frozen=True)
class Form:
    """All are ready: let them run together."""

    members: tuple[Member, ...]


@dataclass(frozen=True)
class Clash:
    """These two ranks hold one address: each would talk to itself and take it for the other."""

    first: int
    second: int


@dataclass(frozen=True)
class Finished:
    """Every process that has to has ended well: what the others do does not matter any more."""


@dataclass(frozen=True)
class Failed:
    """The generation is over before its work is done.

    Args:
        lost: what happened to the workers that vanished, by rank; empty if a process failed.
    """

    lost: Mapping[int, str]


Verdict = Wait | Form | Clash | Finished | Failed


def forming(size: int, reports: Reports) -> Form | Clash | Wait:
    """Whether all *size* workers are ready, each for the rank it holds, at its own address."""
    members = [reports.ready.get(rank) for rank in range(size)]
    ready = [member for member in members if member is not None]
    holders = [reports.ranks.get(rank) for rank in range(size)]
    if [member.id for member in ready] != holders:
        return Wait()
    first: dict[str, int] = {}
    for rank, member in enumerate(ready):
        if (before := first.setdefault(member.address, rank)) != rank:
            return Clash(before, rank)
    return Form(tuple(ready))


def running(roster: Roster, reports: Reports, policy: Policy) -> Wait | Finished | Failed:
    """What has become of a generation that runs."""
    gone = vanished(roster, reports)
    lost = {rank: worker for rank, worker in gone.items() if rank not in policy.may_fail}
    if lost:
        return Failed(lost)
    if any(end.failed for rank, end in reports.exits.items() if rank not in policy.may_fail):
        return Failed({})
    well = {rank for rank, end in reports.exits.items() if not end.failed}
    if policy.ends_job and policy.ends_job <= well:
        return Finished()
    return Finished() if policy.must_finish <= reports.exits.keys() | gone.keys() else Wait()


def vanished(roster: Roster, reports: Reports) -> dict[int, str]:
    """The members whose keys have gone, by rank, and that said nothing before."""
    return {
        rank: member.id
        for rank, member in enumerate(roster.members)
        if rank not in reports.exits and reports.ready.get(rank) != member
    }


def frozen(roster: Roster, reports: Reports, silence: Silence, limit_s: float) -> dict[int, float]:
    """The members that have work to do and have been silent for too long, and how long, by rank."""
    still = silence.longer(limit_s)
    return {
        rank: still[member.id]
        for rank, member in enumerate(roster.members)
        if rank not in reports.exits and member.id in still
    }


def silent(roster: Roster, reports: Reports) -> dict[int, str]:
    """The members that are there and have not yet said how their process ended, by rank."""
    gone = vanished(roster, reports)
    return {
        rank: member.id
        for rank, member in enumerate(roster.members)
        if rank not in reports.exits and rank not in gone
    }
