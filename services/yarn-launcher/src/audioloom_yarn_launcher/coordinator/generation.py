"""One generation of a gang: it forms, runs and ends once.

The coordinator runs where the store is: in the launcher for a local gang, in the application master
on a cluster. The store and the backend of the workers are its only sources.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from audioloom_yarn_launcher.coordinator import transitions
from audioloom_yarn_launcher.coordinator.context import Gang, GenerationResult
from audioloom_yarn_launcher.coordinator.sidecars import KNOWN_WITHIN_S
from audioloom_yarn_launcher.coordinator.timeouts import (
    LOOK_EVERY_S,
    FailureDetector,
    FormationTimer,
    Part,
)
from audioloom_yarn_launcher.rendezvous.backend import Arrival, arrivals, missing_text
from audioloom_yarn_launcher.rendezvous.causes import (
    TRY_AGAIN,
    Cause,
    WorkerLost,
    first_cause,
)
from audioloom_yarn_launcher.rendezvous.messages import HEARTBEAT, Membership, Reports
from audioloom_yarn_launcher.rendezvous.roles import policy

GRACE_S = 5.0
"""For processes that still run when the launcher is told to stop, or when the job is done."""
REPORT_WITHIN_S = 10.0
FAILED_WITHIN_S = 40.0
"""For the reports on a generation that failed: a worker that goes on publishes its log first, and
storage retries for 30 s. Nobody waits at a prompt for it, as after an interruption."""


def end_sidecars(gang: Gang) -> None:
    """End the sidecars that still run when the run is over."""
    gang.sidecars.let_end(GRACE_S)
    deadline = time.monotonic() + GRACE_S + REPORT_WITHIN_S
    while gang.sidecars.running:
        late = time.monotonic() - deadline
        if late >= 0 or gang.signals.times > 1:
            gang.sidecars.kill()
        if late >= KNOWN_WITHIN_S:
            return  # they end with their containers
        gang.wait(0.2)


def run_generation(
    gang: Gang,
    *,
    attempt: int,
    generation: int,
    formed: Callable[[Membership, float], None],
    goes_on: bool = True,
) -> GenerationResult:
    """Form, run and end the gang once, after its driver has begun the generation. Main thread only.

    *formed* is called when the gang is complete, while its processes start, with the seconds since
    all workers had a container. If another generation may follow (*goes_on*), a vanished worker is
    replaced long before the others have ended.
    """
    timer = FormationTimer(gang.workers.pending, gang.limits)
    membership = _form(gang, attempt, generation, timer)
    if isinstance(membership, GenerationResult):
        return membership
    since = time.monotonic()
    formed(membership, timer.localising_s)
    gang.sidecars.gang_is_complete(membership)
    known: dict[int, WorkerLost] = {}
    went = _watch(gang, membership, since, known)
    cause = went if isinstance(went, Cause) else None
    gone = dict(went.lost) if isinstance(went, transitions.Failed) else {}
    if gone and goes_on:
        gang.workers.request_missing()
    grace_s = 0 if isinstance(went, transitions.Failed) else GRACE_S
    if grace_s:  # no generation follows
        gang.sidecars.let_end(grace_s)
    reports, lost = _gather(gang, membership, gone, known, grace_s=grace_s)
    if isinstance(went, transitions.Failed):
        cause = _first_that_counts(gang, reports, lost)
    executed_s = time.monotonic() - since
    return GenerationResult(membership, cause, reports.exits, lost, executed_s)


def _form(
    gang: Gang, attempt: int, generation: int, timer: FormationTimer
) -> Membership | GenerationResult:
    """Wait for a complete gang; return its membership, or the result that says why it failed."""
    detector = FailureDetector(gang.store, HEARTBEAT, gang.plan.frozen_s)
    while True:
        if cause := gang.interrupted or _lost_worker(gang, detector):
            return GenerationResult(None, cause)
        reports = gang.driver.reports(generation)
        match transitions.forming(gang.plan.gang_size, reports):
            case Cause() as cause:
                return GenerationResult(None, cause, arrivals=_arrivals(gang, reports))
            case None:
                left = timer.left()
                if left <= 0:
                    return _late(gang, reports, timer.part)
                gang.wait(min(left, LOOK_EVERY_S))
            case members:
                membership = Membership(attempt, generation, members)
                if gang.driver.freeze(generation, dict(enumerate(members)), membership):
                    return membership


def _lost_worker(gang: Gang, detector: FailureDetector) -> Cause | None:
    lost = gang.workers.exited()
    for worker, seconds in detector.frozen().items():
        if not lost:
            gang.workers.kill(worker)
            lost = {worker: _frozen_worker(seconds)}
    for worker, loss in lost.items():
        return loss.cause(f"{worker} was lost before the gang was complete")
    return None


def _late(gang: Gang, reports: Reports, part: Part) -> GenerationResult:
    rows = _arrivals(gang, reports)
    size, limits = gang.plan.gang_size, gang.limits
    if part == "allocation":
        missed = f"not all of {size} workers got a container within {limits.allocation_s:g} s"
    else:
        came = len(reports.ready)
        missed = f"{came} of {size} workers registered within {limits.registration_s:g} s"
    cause = Cause(part, f"{missed} ({missing_text(rows)})", TRY_AGAIN)
    return GenerationResult(None, cause, arrivals=rows)


def _arrivals(gang: Gang, reports: Reports) -> tuple[Arrival, ...]:
    registered = {member.id for member in reports.ready.values()}
    return arrivals(reports, gang.workers.unregistered(registered))


def _first_that_counts(gang: Gang, reports: Reports, lost: Mapping[int, WorkerLost]) -> Cause:
    """Find the first cause among the workers that may not fail, one of which did."""
    pardoned = policy(gang.plan.roles).may_fail
    every = {**reports.exits, **gang.sidecars.exits()}.items()
    exits = {rank: end for rank, end in every if rank not in pardoned}
    gone = {rank: loss for rank, loss in lost.items() if rank not in pardoned}
    return first_cause(replace(reports, exits=exits), gone)


def _watch(
    gang: Gang, membership: Membership, since: float, known: dict[int, WorkerLost]
) -> Cause | transitions.Failed | transitions.Finished:
    """Wait until the generation is over; add the workers that were killed here to *known*."""
    detector = FailureDetector(gang.store, HEARTBEAT, gang.plan.frozen_s)
    driver, decides = gang.driver, policy(gang.plan.roles)
    while True:
        if cause := gang.interrupted:
            return cause
        left = since + gang.limits.execution_s - time.monotonic()
        reports = driver.reports(membership.generation)
        for rank in transitions.vanished(membership, reports):
            driver.note_first_failure(membership.generation, rank)
        silent = detector.frozen()
        every = {**reports.exits, **gang.sidecars.exits()}
        match transitions.running(membership, replace(reports, exits=every), decides):
            case None:
                if left <= 0:
                    # The command did not fail: a rerun of it continues the work.
                    text = "the gang has worked for as long as --timeout-execution allows"
                    return Cause("execution", text, TRY_AGAIN)
                still = transitions.frozen(membership, reports, silent)
                found = {rank: s for rank, s in still.items() if rank not in known}
                known |= _kill_frozen(gang, membership, found)
                if lost := found.keys() - decides.may_fail:
                    return transitions.Failed({rank: membership.members[rank].id for rank in lost})
                gang.wait(min(left, LOOK_EVERY_S))
            case state:
                return state


def _kill_frozen(
    gang: Gang, membership: Membership, stand_still: Mapping[int, float]
) -> dict[int, WorkerLost]:
    found = {}
    for rank, seconds in stand_still.items():
        member = membership.members[rank]
        gang.driver.note_first_failure(membership.generation, rank)
        gang.workers.kill(member.id)
        found[rank] = _frozen_worker(seconds, f", process {member.pid} on {member.host},")
    return found


def _gather(
    gang: Gang,
    membership: Membership,
    gone: dict[int, str],
    known: Mapping[int, WorkerLost],
    *,
    grace_s: float,
) -> tuple[Reports, dict[int, WorkerLost]]:
    """End the running processes, and wait until every worker has reported or vanished.

    Return the reports of the others, and the vanished workers as lost, whatever they report later:
    on a node that was cut off the worker lives on, gets the order to end, and reports as if it had
    been well until then.
    """
    generation = membership.generation
    gang.driver.end(generation, grace_s)
    deadline = time.monotonic() + (grace_s + REPORT_WITHIN_S if grace_s else FAILED_WITHIN_S)
    killed: set[int] = set()
    while True:
        reports = gang.driver.reports(generation)
        gone |= {
            r: w for r, w in transitions.vanished(membership, reports).items() if r not in killed
        }
        left = transitions.unreported(membership, reports)
        if not left:
            break
        if time.monotonic() >= deadline or gang.signals.times > 1:
            for rank, worker in left.items():
                gang.workers.kill(worker)
                killed.add(rank)
        least = 0.2 if killed else 0.01  # a container takes its time to end
        gang.wait(min(1.0, max(least, deadline - time.monotonic())))
    exits = {rank: end for rank, end in reports.exits.items() if rank not in gone}
    lost = {
        rank: known.get(rank) or gang.workers.exit_reason(worker)
        for rank, worker in sorted(gone.items())
    }
    return replace(reports, exits=exits), lost


def _frozen_worker(seconds: float, which: str = "") -> WorkerLost:
    text = f"its agent{which} sent no heartbeat for {seconds:.0f} s: it was frozen, and was killed"
    return WorkerLost(text, reason="frozen")
