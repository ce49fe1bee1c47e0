"""The coordinator: lets the workers meet, freezes who runs, and ends what cannot go on.

It runs where the store is: in the launcher for a local gang, in the application master on a
cluster. It learns everything from the store and from the place that the workers come from.
"""

from __future__ import annotations

import queue
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from audioloom_yarn_launcher.causes import (
    CONFIGURATION,
    TRY_AGAIN,
    Cause,
    Loss,
    first_cause,
)
from audioloom_yarn_launcher.gang import (
    BEAT,
    GENERATION,
    OUTCOME,
    PLAN,
    WORKER,
    End,
    Exit,
    Plan,
    Reports,
    Roster,
    encode,
    end_key,
    exit_key,
    first_key,
    read_reports,
    ready_key,
    roster_key,
)
from audioloom_yarn_launcher.kv import Delete, Equals, KeyValueStore, Missing, Put
from audioloom_yarn_launcher.limits import Forming, Limits, Part
from audioloom_yarn_launcher.rendezvous import Arrival, arrivals, missing_text
from audioloom_yarn_launcher.silence import LOOK_EVERY_S, Silence
from audioloom_yarn_launcher.verdict import (
    Clash,
    Failed,
    Finished,
    Form,
    Wait,
    forming,
    frozen,
    running,
    silent,
    vanished,
)
from audioloom_yarn_launcher.workers import Workers

LOOK_AGAIN_S = 5.0
"""Hints are enough; looking now and then costs nothing and needs no proof that none is lost."""
GRACE_S = 5.0
"""For what still runs when the launcher is told to stop, or when the job is done without it."""
REPORT_WITHIN_S = 10.0


class Interruption:
    """Whether the launcher was told to stop, and how often; set from a signal handler."""

    def __init__(self, wakes: queue.SimpleQueue[None]) -> None:
        self._wakes = wakes
        self.signal: signal.Signals | None = None
        self.times = 0

    def __call__(self, number: int, _frame: object = None) -> None:
        """Take a signal. The first is the cause; those after it only say that it is urgent."""
        self.signal = self.signal or signal.Signals(number)
        self.times += 1
        self._wakes.put(None)


@dataclass(frozen=True)
class Gang:
    """What the coordinator works with."""

    store: KeyValueStore
    workers: Workers
    plan: Plan
    wakes: queue.SimpleQueue[None]
    interruption: Interruption
    limits: Limits


@dataclass(frozen=True)
class Generation:
    """How a generation went.

    Args:
        roster: who ran; None if the gang was never complete.
        cause: why it ended; None if every process finished well.
        exits: how the processes ended, by rank.
        lost: what happened to the workers that vanished, by rank.
        executed_s: for how long the gang was complete.
        arrivals: how far each worker came, if the gang was not complete in time.
    """

    roster: Roster | None
    cause: Cause | None
    exits: Mapping[int, Exit] = field(default_factory=dict)
    lost: Mapping[int, Loss] = field(default_factory=dict)
    executed_s: float = 0.0
    arrivals: tuple[Arrival, ...] = ()


def open_gang(gang: Gang) -> None:
    """Say what is to be run; workers may come from now on."""
    gang.store.subscribe(WORKER, lambda: gang.wakes.put(None))
    gang.store.transaction([], [Put(PLAN, encode(gang.plan))])


def close_gang(gang: Gang) -> None:
    """Tell the workers to leave, and see that they did."""
    gang.store.transaction([], [Put(OUTCOME, "over")])
    gang.workers.close()


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
    roster = _form(gang, attempt, generation)
    if isinstance(roster, Generation):
        return roster
    since = time.monotonic()
    formed(roster)
    known: dict[int, Loss] = {}
    went = _watch(gang, roster, since, known)
    cause = went if isinstance(went, Cause) else None
    gone = dict(went.lost) if isinstance(went, Failed) else {}
    if gone and goes_on:
        gang.workers.fill()
    grace_s = 0 if isinstance(went, Failed) else GRACE_S
    reports, lost = _gather(gang, roster, gone, known, grace_s=grace_s)
    if isinstance(went, Failed):
        cause = _first_that_counts(gang, reports, lost)
    executed_s = time.monotonic() - since
    return Generation(roster, cause, reports.exits, lost, executed_s)


def pause(gang: Gang, seconds: float) -> None:
    """Wait, unless the launcher is told to stop."""
    deadline = time.monotonic() + seconds
    while gang.interruption.signal is None and (left := deadline - time.monotonic()) > 0:
        _wait(gang, left)


def interrupted(gang: Gang) -> Cause | None:
    """The cause that a signal to the launcher is."""
    number = gang.interruption.signal
    if number is None:
        return None
    return Cause("interrupted", f"the launcher got {number.name}", exit_code=128 + number)


def _raise_generation(gang: Gang, generation: int) -> None:
    old = generation - 1
    ranks = range(gang.plan.size)
    forget = [key(old) for key in (roster_key, end_key, first_key)]
    forget += [key(old, rank) for key in (ready_key, exit_key) for rank in ranks]
    gang.store.transaction([], [Put(GENERATION, str(generation)), *map(Delete, forget)])


def _form(gang: Gang, attempt: int, generation: int) -> Roster | Generation:
    """The roster as soon as it stands, or how the generation went that has none."""
    phase = Forming(asked=time.monotonic())
    silence = Silence(time.monotonic())
    while True:
        if cause := interrupted(gang):
            return Generation(None, cause)
        reports = _reports(gang, generation)
        if lost := gang.workers.lost():
            worker, loss = next(iter(lost.items()))
            return Generation(None, loss.cause(f"{worker} was lost before the gang was complete"))
        silence = _listen(gang, silence)
        for worker, seconds in silence.longer(gang.plan.frozen_s).items():
            gang.workers.kill(worker)
            frozen_text = f"{worker} was lost before the gang was complete"
            return Generation(None, _frozen(seconds).cause(frozen_text))
        match forming(gang.plan.size, reports):
            case Form(members):
                roster = Roster(attempt, generation, members)
                if _freeze(gang, roster):
                    return roster
            case Clash(first, second):
                return _clash(gang, reports, (first, second))
            case Wait():
                unplaced = 0 if phase.placed is not None else gang.workers.unplaced()
                phase = phase.seen(time.monotonic(), unplaced=unplaced)
                left = phase.left(gang.limits, time.monotonic())
                if left is not None and left <= 0:
                    return _nobody_else_came(gang, reports, phase.part)
                _wait(gang, LOOK_EVERY_S if left is None else min(left, LOOK_EVERY_S))


def _freeze(gang: Gang, roster: Roster) -> bool:
    """Make the roster stand, unless a worker has vanished or changed since it was read."""
    key = roster_key(roster.generation)
    still = [
        Equals(ready_key(roster.generation, rank), encode(member))
        for rank, member in enumerate(roster.members)
    ]
    return gang.store.transaction([Missing(key), *still], [Put(key, encode(roster))])


def _nobody_else_came(gang: Gang, reports: Reports, part: Part) -> Generation:
    rows = _arrivals(gang, reports)
    size, limits = gang.plan.size, gang.limits
    if part == "allocation":
        missed = f"not all of {size} workers were given a place within {limits.allocation_s:g} s"
    else:
        came = len(reports.ready)
        missed = f"{came} of {size} workers came within {limits.registration_s:g} s"
    cause = Cause(part, f"{missed} ({missing_text(rows)})", TRY_AGAIN)
    return Generation(None, cause, arrivals=rows)


def _clash(gang: Gang, reports: Reports, ranks: tuple[int, int]) -> Generation:
    who = " and ".join(f"{rank} on {reports.ready[rank].host}" for rank in ranks)
    address = reports.ready[ranks[0]].address
    text = (
        f"workers {who} have one address, {address}: give an --advertise that differs between"
        " the nodes"
    )
    cause = Cause("registration", text, CONFIGURATION, repeats=True)
    return Generation(None, cause, arrivals=_arrivals(gang, reports))


def _arrivals(gang: Gang, reports: Reports) -> tuple[Arrival, ...]:
    came = {member.id for member in reports.ready.values()}
    return arrivals(reports, gang.workers.absent(came))


def _first_that_counts(gang: Gang, reports: Reports, lost: Mapping[int, Loss]) -> Cause:
    """The first cause among those that may not fail: one of them did."""
    pardoned = gang.plan.policy.may_fail
    exits = {rank: end for rank, end in reports.exits.items() if rank not in pardoned}
    gone = {rank: loss for rank, loss in lost.items() if rank not in pardoned}
    return first_cause(replace(reports, exits=exits), gone)


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
        reports = _reports(gang, roster.generation)
        for rank in vanished(roster, reports):
            _note_first(gang, roster, rank)
        silence = _listen(gang, silence)
        match running(roster, reports, policy):
            case Wait():
                if left <= 0:
                    return _worked_too_long()
                still = frozen(roster, reports, silence, gang.plan.frozen_s)
                found = {rank: s for rank, s in still.items() if rank not in known}
                known |= _end_frozen(gang, roster, found)
                if lost := found.keys() - policy.may_fail:
                    return Failed({rank: roster.members[rank].id for rank in lost})
                _wait(gang, min(left, LOOK_EVERY_S))
            case verdict:
                return verdict


def _left_to_work(gang: Gang, since: float) -> float:
    limit = gang.limits.execution_s
    return LOOK_AGAIN_S if limit is None else since + limit - time.monotonic()


def _worked_too_long() -> Cause:
    text = "the gang had worked for as long as it may (--timeout-execution)"
    return Cause("execution", text, TRY_AGAIN)  # the same command goes on with the work


def _note_first(gang: Gang, roster: Roster, rank: int) -> None:
    key = first_key(roster.generation)
    gang.store.transaction([Missing(key)], [Put(key, str(rank))])


def _listen(gang: Gang, silence: Silence) -> Silence:
    at = time.monotonic()
    if not silence.due(at):
        return silence
    beats = gang.store.get_prefix(BEAT)
    return silence.heard({key.removeprefix(BEAT): count for key, count in beats.items()}, at)


def _end_frozen(gang: Gang, roster: Roster, stand_still: Mapping[int, float]) -> dict[int, Loss]:
    found = {}
    for rank, seconds in stand_still.items():
        member = roster.members[rank]
        _note_first(gang, roster, rank)
        gang.workers.kill(member.id)
        found[rank] = _frozen(seconds, f", process {member.pid} on {member.host},")
    return found


def _frozen(seconds: float, which: str = "") -> Loss:
    said = f"its agent{which} had said nothing for {seconds:.0f} s"
    return Loss(f"{said}: it was frozen, and was ended")


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
        reports = _reports(gang, generation)
        gone |= {r: w for r, w in vanished(roster, reports).items() if r not in killed}
        left = silent(roster, reports)
        if not left:
            break
        if time.monotonic() >= deadline or gang.interruption.times > 1:
            for rank, worker in left.items():
                gang.workers.kill(worker)
                killed.add(rank)
        _wait(gang, min(1.0, max(0.01, deadline - time.monotonic())))
    told = {rank: end for rank, end in reports.exits.items() if rank not in gone}
    lost = {
        rank: known.get(rank) or gang.workers.why_gone(worker)
        for rank, worker in sorted(gone.items())
    }
    return replace(reports, exits=told), lost


def _reports(gang: Gang, generation: int) -> Reports:
    return read_reports(gang.store.get_prefix(WORKER), generation)


def _wait(gang: Gang, seconds: float) -> None:
    with suppress(queue.Empty):
        gang.wakes.get(timeout=seconds)
        while True:  # many hints, one look
            gang.wakes.get_nowait()
