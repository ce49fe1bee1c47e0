"""The state of a generation: pure functions of the membership and the reports."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from audioloom_yarn_launcher.rendezvous.causes import CONFIGURATION, Cause
from audioloom_yarn_launcher.rendezvous.messages import Member, Membership, Reports
from audioloom_yarn_launcher.rendezvous.roles import Policy

MOST_ADDRESSES_BYTES = 127 << 10
"""Linux allows a variable 128 KiB; TF_CONFIG holds roles too."""


@dataclass(frozen=True)
class Finished:
    """Every process that must finish has succeeded; the other processes no longer matter."""


@dataclass(frozen=True)
class Failed:
    """The generation failed: workers were *lost*, ids by rank, or else a process failed."""

    lost: Mapping[int, str]


def forming(size: int, reports: Reports) -> tuple[Member, ...] | Cause | None:
    """Return the members, once all *size* workers are ready, each for a rank and address.

    A Cause if two of them have one address, so that each would talk to itself instead of its peer,
    or if TF_CONFIG cannot hold all addresses.
    """
    members = [reports.ready.get(rank) for rank in range(size)]
    ready = [member for member in members if member is not None]
    holders = [reports.ranks.get(rank) for rank in range(size)]
    if [member.id for member in ready] != holders:
        return None
    first: dict[str, int] = {}
    for rank, member in enumerate(ready):
        if (before := first.setdefault(member.address, rank)) != rank:
            who = " and ".join(f"{each} on {ready[each].host}" for each in (before, rank))
            text = (
                f"workers {who} have one address, {member.address}: give an --advertise that"
                " differs between the nodes"
            )
            return Cause("registration", text, CONFIGURATION)
    length = len(json.dumps(list(first)))
    if length > MOST_ADDRESSES_BYTES:
        text = (
            f"the addresses of {size} workers are too long for TF_CONFIG ({length} bytes of at most"
            f" {MOST_ADDRESSES_BYTES}): start fewer workers, or give a network as --advertise if"
            " the names of the nodes are longer than their numbers"
        )
        return Cause("registration", text, CONFIGURATION)
    return tuple(ready)


def running(membership: Membership, reports: Reports, policy: Policy) -> Finished | Failed | None:
    """Return how a running generation ended; None while it is at work."""
    gone = vanished(membership, reports)
    lost = {rank: worker for rank, worker in gone.items() if rank not in policy.may_fail}
    if lost:
        return Failed(lost)
    if any(end.failed for rank, end in reports.exits.items() if rank not in policy.may_fail):
        return Failed({})
    succeeded = {rank for rank, end in reports.exits.items() if not end.failed}
    if policy.ends_job and policy.ends_job <= succeeded:
        return Finished()
    return Finished() if policy.must_finish <= reports.exits.keys() | gone.keys() else None


def vanished(membership: Membership, reports: Reports) -> dict[int, str]:
    """The members whose keys have vanished before they reported an exit, by rank."""
    silent = _without_exit(membership, reports)
    return {rank: each.id for rank, each in silent.items() if reports.ready.get(rank) != each}


def frozen(
    membership: Membership, reports: Reports, silent: Mapping[str, float]
) -> dict[int, float]:
    """The *silent* members that have not reported an exit, with their seconds, by rank."""
    found = _without_exit(membership, reports)
    return {rank: silent[each.id] for rank, each in found.items() if each.id in silent}


def unreported(membership: Membership, reports: Reports) -> dict[int, str]:
    """The members that have neither vanished nor reported an exit, by rank."""
    silent = _without_exit(membership, reports)
    return {rank: each.id for rank, each in silent.items() if reports.ready.get(rank) == each}


def _without_exit(membership: Membership, reports: Reports) -> dict[int, Member]:
    every = enumerate(membership.members)
    return {rank: member for rank, member in every if rank not in reports.exits}
