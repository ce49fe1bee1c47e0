"""The formation of a gang: all workers start together, and its members are then final."""

from audioloom_yarn_launcher.coordinator.context import Gang, GenerationResult, frozen_worker
from audioloom_yarn_launcher.coordinator.failure_detector import LOOK_EVERY_S, FailureDetector
from audioloom_yarn_launcher.coordinator.timeouts import FormationTimer, Part
from audioloom_yarn_launcher.coordinator.transitions import Clash, forming
from audioloom_yarn_launcher.rendezvous.arrivals import Arrival, arrivals, missing_text
from audioloom_yarn_launcher.rendezvous.causes import CONFIGURATION, TRY_AGAIN, Cause
from audioloom_yarn_launcher.rendezvous.messages import HEARTBEAT, Membership, Reports


def form(gang: Gang, attempt: int, generation: int) -> Membership | GenerationResult:
    """Wait for a complete gang; return its membership, or the result that says why it failed."""
    timer = FormationTimer(gang.workers.pending, gang.limits)
    detector = FailureDetector(gang.store, HEARTBEAT, gang.plan.frozen_s)
    while True:
        if cause := gang.interrupted or _lost_worker(gang, detector):
            return GenerationResult(None, cause)
        reports = gang.driver.reports(generation)
        match forming(gang.plan.gang_size, reports):
            case Clash(first, second):
                return _clash(gang, reports, (first, second))
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
            lost = {worker: frozen_worker(seconds)}
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


def _clash(gang: Gang, reports: Reports, ranks: tuple[int, int]) -> GenerationResult:
    who = " and ".join(f"{rank} on {reports.ready[rank].host}" for rank in ranks)
    address = reports.ready[ranks[0]].address
    text = (
        f"workers {who} have one address, {address}: give an --advertise that differs between"
        " the nodes"
    )
    cause = Cause("registration", text, CONFIGURATION)
    return GenerationResult(None, cause, arrivals=_arrivals(gang, reports))


def _arrivals(gang: Gang, reports: Reports) -> tuple[Arrival, ...]:
    registered = {member.id for member in reports.ready.values()}
    return arrivals(reports, gang.workers.unregistered(registered))
