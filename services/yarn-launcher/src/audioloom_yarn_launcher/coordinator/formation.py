"""How a gang meets: nobody starts before all are there, and who runs is frozen as they do."""

from __future__ import annotations

import time

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
from audioloom_yarn_launcher.coordinator.timeouts import Forming, Part, patience
from audioloom_yarn_launcher.coordinator.transitions import Clash, Form, Wait, forming
from audioloom_yarn_launcher.rendezvous.arrivals import Arrival, arrivals, missing_text
from audioloom_yarn_launcher.rendezvous.causes import CONFIGURATION, TRY_AGAIN, Cause
from audioloom_yarn_launcher.rendezvous.kv import Equals, Missing, Put
from audioloom_yarn_launcher.rendezvous.messages import (
    Reports,
    Roster,
    encode,
    ready_key,
    roster_key,
)


def meet(gang: Gang, attempt: int, generation: int) -> Roster | Generation:
    """The roster as soon as it stands, or how the generation went that has none."""
    phase = Forming(time.monotonic(), patience=patience())
    silence = Silence(time.monotonic())
    while True:
        if cause := interrupted(gang):
            return Generation(None, cause)
        reports = reports_of(gang, generation)
        if lost := gang.workers.lost():
            worker, loss = next(iter(lost.items()))
            return Generation(None, loss.cause(f"{worker} was lost before the gang was complete"))
        silence = listen(gang, silence)
        for worker, seconds in silence.longer(gang.plan.frozen_s).items():
            gang.workers.kill(worker)
            frozen_text = f"{worker} was lost before the gang was complete"
            return Generation(None, frozen_for(seconds).cause(frozen_text))
        match forming(gang.plan.gang_size, reports):
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
                wait(gang, LOOK_EVERY_S if left is None else min(left, LOOK_EVERY_S))


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
    size, limits = gang.plan.gang_size, gang.limits
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
