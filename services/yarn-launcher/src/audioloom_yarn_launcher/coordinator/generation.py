"""The coordinator: lets the workers meet, freezes who runs, and ends what cannot go on.

It runs where the store is: in the launcher for a local gang, in the application master on a
cluster. It learns everything from the store and from the place that the workers come from.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from audioloom_yarn_launcher.coordinator.context import (
    Gang,
    Generation,
    frozen_for,
    interrupted,
    listen,
    reports_of,
    wait,
)
from audioloom_yarn_launcher.coordinator.failure_detector import LOOK_EVERY_S, Silence
from audioloom_yarn_launcher.coordinator.formation import meet
from audioloom_yarn_launcher.coordinator.sidecars import KNOWN_WITHIN_S
from audioloom_yarn_launcher.coordinator.transitions import (
    Failed,
    Finished,
    Wait,
    frozen,
    running,
    silent,
    vanished,
)
from audioloom_yarn_launcher.rendezvous.causes import (
    TRY_AGAIN,
    Cause,
    Loss,
    first_cause,
)
from audioloom_yarn_launcher.rendezvous.kv import Delete, Missing, Put
from audioloom_yarn_launcher.rendezvous.messages import (
    BESIDE,
    GENERATION,
    OUTCOME,
    PLAN,
    WORKER,
    End,
    Reports,
    Roster,
    encode,
    end_key,
    exit_key,
    first_key,
    ready_key,
    roster_key,
)

GRACE_S = 5.0
"""For what still runs when the launcher is told to stop, or when the job is done without it."""
REPORT_WITHIN_S = 10.0


def open_gang(gang: Gang) -> None:
    """Say what is to be run; workers may come from now on."""
    for reports in (WORKER, BESIDE):
        gang.store.subscribe(reports, lambda: gang.wakes.put(None))
    gang.store.transaction([], [Put(PLAN, encode(gang.plan))])


def close_gang(gang: Gang) -> None:
    """Tell the workers to leave, and see that they did."""
    gang.store.transaction([], [Put(OUTCOME, "over")])
    gang.beside.leave()
    gang.workers.close()
    gang.beside.close()


def end_those_beside(gang: Gang) -> None:
    """End who still runs beside the gang: the run is over."""
    gang.beside.let_end(GRACE_S)
    deadline = time.monotonic() + GRACE_S + REPORT_WITHIN_S
    while gang.beside.running:
        late = time.monotonic() - deadline
        if late >= 0 or gang.interruption.times > 1:
            gang.beside.kill()
        if late >= KNOWN_WITHIN_S:
            return  # they end with their places
        wait(gang, 0.2)


def begin_generation(gang: Gang, generation: int) -> None:
    """Let the workers get ready for a generation, and ask for those that are missing.

    Nothing runs before `run_generation` is called, so there is time to put things on record.

    Args:
        gang: opened.
        generation: one more than the last of this gang, from 0.
    """
    _raise_generation(gang, generation)
    gang.workers.fill()


def run_generation(
    gang: Gang,
    *,
    attempt: int,
    generation: int,
    formed: Callable[[Roster], None],
    goes_on: bool = True,
) -> Generation:
    """Let the gang meet, run and end once. Main thread only.

    Args:
        gang: opened, and the generation begun.
        attempt: the number that the processes are told, and that their logs carry.
        generation: the one that was begun.
        formed: called when the gang is complete, while its processes start.
        goes_on: whether another generation may follow: then another worker is asked for as soon as
            one vanishes, long before the others have ended.
    """
    roster = meet(gang, attempt, generation)
    if isinstance(roster, Generation):
        return roster
    since = time.monotonic()
    formed(roster)
    gang.beside.gang_is_complete(roster)
    known: dict[int, Loss] = {}
    went = _watch(gang, roster, since, known)
    cause = went if isinstance(went, Cause) else None
    gone = dict(went.lost) if isinstance(went, Failed) else {}
    if gone and goes_on:
        gang.workers.fill()
    grace_s = 0 if isinstance(went, Failed) else GRACE_S
    if grace_s:  # nothing follows
        gang.beside.let_end(grace_s)
    reports, lost = _gather(gang, roster, gone, known, grace_s=grace_s)
    if isinstance(went, Failed):
        cause = _first_that_counts(gang, reports, lost)
    executed_s = time.monotonic() - since
    return Generation(roster, cause, reports.exits, lost, executed_s)


def _raise_generation(gang: Gang, generation: int) -> None:
    old = generation - 1
    ranks = range(gang.plan.gang_size)
    forget = [key(old) for key in (roster_key, end_key, first_key)]
    forget += [key(old, rank) for key in (ready_key, exit_key) for rank in ranks]
    gang.store.transaction([], [Put(GENERATION, str(generation)), *map(Delete, forget)])


def _first_that_counts(gang: Gang, reports: Reports, lost: Mapping[int, Loss]) -> Cause:
    """The first cause among those that may not fail: one of them did."""
    pardoned, beside = gang.plan.policy.may_fail, gang.beside.exits()
    every = {**reports.exits, **beside}.items()
    exits = {rank: end for rank, end in every if rank not in pardoned}
    gone = {rank: loss for rank, loss in lost.items() if rank not in pardoned}
    cause = first_cause(replace(reports, exits=exits), gone)
    return replace(cause, repeats=True) if cause.rank in beside else cause  # it was tried enough


def _watch(
    gang: Gang, roster: Roster, since: float, known: dict[int, Loss]
) -> Cause | Failed | Finished:
    """Wait until the generation is over: told to stop, failed, or done.

    Args:
        gang: at work.
        roster: who runs.
        since: when it began to.
        known: what happened to those that did not vanish by themselves is put there, by rank.
    """
    silence, policy = Silence(time.monotonic()), gang.plan.policy
    while True:
        if cause := interrupted(gang):
            return cause
        left = _left_to_work(gang, since)
        reports = reports_of(gang, roster.generation)
        for rank in vanished(roster, reports):
            _note_first(gang, roster, rank)
        silence = listen(gang, silence)
        every = {**reports.exits, **gang.beside.exits()}
        match running(roster, replace(reports, exits=every), policy):
            case Wait():
                if left <= 0:
                    return _worked_too_long()
                still = frozen(roster, reports, silence, gang.plan.frozen_s)
                found = {rank: s for rank, s in still.items() if rank not in known}
                known |= _end_frozen(gang, roster, found)
                if lost := found.keys() - policy.may_fail:
                    return Failed({rank: roster.members[rank].id for rank in lost})
                wait(gang, min(left, LOOK_EVERY_S))
            case verdict:
                return verdict


def _left_to_work(gang: Gang, since: float) -> float:
    limit = gang.limits.execution_s
    return math.inf if limit is None else since + limit - time.monotonic()


def _worked_too_long() -> Cause:
    text = "the gang had worked for as long as it may (--timeout-execution)"
    return Cause("execution", text, TRY_AGAIN)  # the same command goes on with the work


def _note_first(gang: Gang, roster: Roster, rank: int) -> None:
    key = first_key(roster.generation)
    gang.store.transaction([Missing(key)], [Put(key, str(rank))])


def _end_frozen(gang: Gang, roster: Roster, stand_still: Mapping[int, float]) -> dict[int, Loss]:
    found = {}
    for rank, seconds in stand_still.items():
        member = roster.members[rank]
        _note_first(gang, roster, rank)
        gang.workers.kill(member.id)
        found[rank] = frozen_for(seconds, f", process {member.pid} on {member.host},")
    return found


def _gather(
    gang: Gang,
    roster: Roster,
    gone: dict[int, str],
    known: Mapping[int, Loss],
    *,
    grace_s: float,
) -> tuple[Reports, dict[int, Loss]]:
    """End what still runs, and wait until everybody has said how it ended or is gone.

    Who has vanished once is lost: on a node that was cut off it lives on, hears that it is to end,
    and says that it has, as if it had been well until then.

    Returns:
        What the others said, and what happened to those that are lost.
    """
    generation = roster.generation
    gang.store.transaction([], [Put(end_key(generation), encode(End(grace_s)))])
    deadline = time.monotonic() + grace_s + REPORT_WITHIN_S
    killed: set[int] = set()
    while True:
        reports = reports_of(gang, generation)
        gone |= {r: w for r, w in vanished(roster, reports).items() if r not in killed}
        left = silent(roster, reports)
        if not left:
            break
        if time.monotonic() >= deadline or gang.interruption.times > 1:
            for rank, worker in left.items():
                gang.workers.kill(worker)
                killed.add(rank)
        wait(gang, min(1.0, max(0.01, deadline - time.monotonic())))
    told = {rank: end for rank, end in reports.exits.items() if rank not in gone}
    lost = {
        rank: known.get(rank) or gang.workers.why_gone(worker)
        for rank, worker in sorted(gone.items())
    }
    return replace(reports, exits=told), lost
