"""The supervisor of a gang: it runs generation after generation while a restart may help."""

import queue
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace

import structlog
from audioloom_storage import Location, StorageError, locate

from audioloom_yarn_launcher.coordinator.context import Gang, GenerationResult
from audioloom_yarn_launcher.coordinator.generation import end_sidecars, run_generation
from audioloom_yarn_launcher.coordinator.progress_record import ProgressRecord
from audioloom_yarn_launcher.coordinator.sidecars import Sidecars
from audioloom_yarn_launcher.coordinator.timeouts import pause_s
from audioloom_yarn_launcher.errors import StoreLost
from audioloom_yarn_launcher.rendezvous import messages
from audioloom_yarn_launcher.rendezvous.backend import KeyValueStore, Put, Workers
from audioloom_yarn_launcher.rendezvous.causes import Cause, describe_end, signal_name
from audioloom_yarn_launcher.rendezvous.limits import Limits
from audioloom_yarn_launcher.rendezvous.roles import Group, gang_groups, size_of, tasks
from audioloom_yarn_launcher.runs import attempts
from audioloom_yarn_launcher.runs.layout import now
from audioloom_yarn_launcher.runs.lease import next_attempt
from audioloom_yarn_launcher.runs.run_spec import RunSpec
from audioloom_yarn_launcher.runs.sidecar_events import SidecarEvent, record_event
from audioloom_yarn_launcher.system.interrupts import SignalState, taking_signals

Changed = Callable[[], None]

log = structlog.get_logger()


def run_attempts(
    gang: Gang, spec: RunSpec, started: attempts.AttemptStarted, *, before: int = 0
) -> tuple[Cause | None, attempts.AttemptStarted]:
    """Run generation after generation until one succeeds or a restart would not help.

    The start of an attempt and the end of the last attempt are recorded before anything depends on
    them. The members of an attempt, and its end if another follows, are recorded meanwhile.
    The attempt in *started* has begun; lost coordinators of this launch made those *before* it.
    Return the cause of the last attempt's failure, None if the work is done, and the attempt.
    """
    folder, groups, max_restarts = spec.location, gang.plan.roles, spec.max_restarts
    written: list[Future[None]] = []
    gang.driver.begin(started.generation)
    with ThreadPoolExecutor(1, "records") as meanwhile:
        for restarts in range(before, max_restarts + 1):
            gang.progress.begin(started.attempt)
            went = run_generation(
                gang,
                attempt=started.attempt,
                generation=started.generation,
                formed=lambda members, localising_s: written.append(
                    meanwhile.submit(
                        _report_members, folder, _members_record(members, groups, localising_s)
                    )
                ),
                goes_on=restarts < max_restarts,
            )
            cause = None if spec.committed else went.cause
            gang = replace(gang, limits=gang.limits.after(went.executed_s))
            again = restarts < max_restarts and _may_help(cause, gang)
            record = _end_record(started, went, cause, groups, restarts=again)
            if cause is None or not again:
                break
            progress = gang.progress.read()  # the next generation overwrites it
            written.append(meanwhile.submit(gang.progress.publish, *progress))
            gang.driver.begin(started.generation + 1)
            seconds = pause_s(restarts)
            log.warning(cause.text, attempt=started.attempt, restarting_in_s=round(seconds, 1))
            written.append(meanwhile.submit(_put_on_record, folder, record))
            started = next_attempt(spec, started)
            gang.pause(seconds)  # the next attempt sees and records an interruption
        end_sidecars(gang)
    for each in written:
        each.result()
    with suppress(StoreLost):  # the end is recorded in any case
        gang.progress.look()
    attempts.publish_record(folder, record)
    return cause, started


@contextmanager
def gang_at_work(
    store: KeyValueStore,
    plan: messages.Plan,
    limits: Limits,
    place: Callable[[Sequence[Group], Changed], Workers],
) -> Iterator[Gang]:
    """Open a gang that obeys this process's signals, and end its workers with the block.

    *place* makes the workers of the gang's roles, or of a sidecar's role; they call the function
    that it gets when one of them has ended.
    """
    folder = locate(plan.folder)
    wakes: queue.SimpleQueue[None] = queue.SimpleQueue()
    recorder = ThreadPoolExecutor(1, "sidecars")

    def changed() -> None:
        wakes.put(None)

    def record(event: SidecarEvent) -> None:
        recorder.submit(_report_event, folder, event)

    signals = SignalState(changed)
    sidecars = Sidecars(store, plan, limits, lambda group: place([group], changed), record)
    workers = place(gang_groups(plan.roles), changed)
    progress = ProgressRecord(store, folder, size_of(plan.roles))
    gang = Gang(store, workers, plan, wakes, signals, limits, sidecars, progress)
    with taking_signals(signals, may_leave=False):
        try:
            for reports in (messages.WORKER, messages.SIDECAR):
                store.subscribe(reports, changed)
            # The plan lets workers claim ranks.
            store.transaction([], [Put(messages.PLAN, messages.encode(plan))])
            progress.start()
            yield gang
        finally:
            progress.close()
            gang.driver.close()  # orders all workers to leave
            sidecars.leave()
            workers.close()
            sidecars.close()
            recorder.shutdown()


def _report_members(folder: Location, record: attempts.AttemptMembers) -> None:
    log.info("the gang is complete", attempt=record.attempt, workers=len(record.workers))
    attempts.report_exposed(record)
    _put_on_record(folder, record)


def _report_event(folder: Location, event: SidecarEvent) -> None:
    who = {"role": event.role, "index": event.index}
    if event.event == "ready":
        log.info("web page ready", **who, page=event.url)
    elif event.event == "ended" and event.cause:
        log.warning("sidecar failed", **who, cause=event.cause, restarting=event.restarted)
    try:
        record_event(folder, event)
    except StorageError as error:  # a missing record must not stop the run
        log.warning("event of a sidecar cannot be recorded", found=str(error))


def _put_on_record(folder: Location, record: attempts.AttemptMembers | attempts.AttemptEnd) -> None:
    for last in (False, False, True):  # otherwise the attempt stays open in the records
        try:
            return attempts.publish_record(folder, record)
        except StorageError as error:  # a missing record must not stop the run
            if last:
                log.warning("attempt cannot be recorded", found=str(error))
    return None


def _may_help(cause: Cause | None, gang: Gang) -> bool:
    if cause is None or cause.repeats or gang.limits.execution_s == 0:
        return False
    # A sidecar, whose ranks come last, is a cause only after its own last restart.
    return cause.kind in ("exit", "signal", "lost") and (cause.rank or 0) < gang.plan.gang_size


def _members_record(
    membership: messages.Membership, groups: Sequence[Group], localising_s: float
) -> attempts.AttemptMembers:
    workers = _workers(membership.members, groups)
    return attempts.AttemptMembers(
        attempt=membership.attempt,
        formed=now(),
        localising_s=round(localising_s, 3),
        workers=tuple(workers),
    )


def _end_record(
    started: attempts.AttemptStarted,
    went: GenerationResult,
    cause: Cause | None,
    groups: Sequence[Group],
    *,
    restarts: bool,
) -> attempts.AttemptEnd:
    members = went.membership.members if went.membership else ()
    workers = [_worker_end(each, went, started.attempt) for each in _workers(members, groups)]
    return started.end(
        cause,
        told=went.cause,
        ended=now(),
        restarts=restarts,
        workers=tuple(workers),
        arrivals=went.arrivals,
    )


def _worker_end(
    known: attempts.WorkerRecord, went: GenerationResult, attempt: int
) -> attempts.WorkerEnd:
    rank, worker = known.rank, known.model_dump()
    end = went.exits.get(rank)
    if end is None:
        loss = went.lost.get(rank)
        if loss is None:
            return attempts.WorkerEnd(**worker, end="stopped", cause="did not answer")
        return attempts.WorkerEnd(**worker, end="lost", cause=loss.text, reason=loss.reason)
    how: attempts.WorkerOutcome
    if end.code is None:
        how, cause = "not-started", "was not started: the gang ended first"
    elif end.stopped:
        by = f"exit code {end.code}" if end.signal is None else signal_name(end.signal)
        how, cause = "stopped", f"was ended by the launcher ({by})"
    else:
        how = "finished" if end.code == 0 else "failed"
        cause = end.text or describe_end(end.code)
    facts = ("pid", "started", "ended", "exit_code", "signal", "reason")
    worker |= {name: getattr(end, name) for name in facts}
    log = None if end.pid is None else f"logs/{rank}/{attempt}.log"
    return attempts.WorkerEnd(**worker, end=how, cause=cause, log=log)


def _workers(
    members: Sequence[messages.Member], groups: Sequence[Group]
) -> Iterator[attempts.WorkerRecord]:
    for rank, (member, (group, index)) in enumerate(zip(members, tasks(groups), strict=False)):
        yield attempts.WorkerRecord(
            rank=rank,
            role=group.role,
            index=index,
            worker=member.id,
            host=member.host,
            worker_pid=member.pid,
            address=member.address,
            exposed=member.exposed,
        )
