"""The supervisor of a gang: it runs generation after generation while a restart may help."""

import queue
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace

import structlog
from audioloom_storage import Location, StorageError, locate

from audioloom_yarn_launcher.coordinator.attempt_record import end_record, members_record
from audioloom_yarn_launcher.coordinator.context import Gang
from audioloom_yarn_launcher.coordinator.generation import end_sidecars, run_generation
from audioloom_yarn_launcher.coordinator.progress_record import ProgressRecord
from audioloom_yarn_launcher.coordinator.sidecars import Sidecars
from audioloom_yarn_launcher.coordinator.timeouts import pause_s
from audioloom_yarn_launcher.errors import StoreLost
from audioloom_yarn_launcher.rendezvous.backend import KeyValueStore, Put, Workers
from audioloom_yarn_launcher.rendezvous.causes import Cause
from audioloom_yarn_launcher.rendezvous.limits import Limits
from audioloom_yarn_launcher.rendezvous.messages import PLAN, SIDECAR, WORKER, Plan, encode
from audioloom_yarn_launcher.rendezvous.roles import Group, gang_groups, size_of
from audioloom_yarn_launcher.runs.attempts import (
    AttemptEnd,
    AttemptMembers,
    AttemptStarted,
    publish_record,
    report_exposed,
)
from audioloom_yarn_launcher.runs.lease import next_attempt
from audioloom_yarn_launcher.runs.run_spec import RunSpec
from audioloom_yarn_launcher.runs.sidecar_events import SidecarEvent, record_event
from audioloom_yarn_launcher.system.interrupts import SignalState, taking_signals

Changed = Callable[[], None]

log = structlog.get_logger()


def run_attempts(
    gang: Gang, spec: RunSpec, started: AttemptStarted, *, before: int = 0
) -> tuple[Cause | None, AttemptStarted]:
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
                        _report_members, folder, members_record(members, groups, localising_s)
                    )
                ),
                goes_on=restarts < max_restarts,
            )
            cause = None if spec.committed else went.cause
            gang = replace(gang, limits=gang.limits.after(went.executed_s))
            again = restarts < max_restarts and _may_help(cause, gang)
            record = end_record(started, went, cause, groups, restarts=again)
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
    publish_record(folder, record)
    return cause, started


@contextmanager
def gang_at_work(
    store: KeyValueStore,
    plan: Plan,
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
            for reports in (WORKER, SIDECAR):
                store.subscribe(reports, changed)
            store.transaction([], [Put(PLAN, encode(plan))])  # lets workers claim ranks
            progress.start()
            yield gang
        finally:
            progress.close()
            gang.driver.close()  # orders all workers to leave
            sidecars.leave()
            workers.close()
            sidecars.close()
            recorder.shutdown()


def _report_members(folder: Location, record: AttemptMembers) -> None:
    log.info("the gang is complete", attempt=record.attempt, workers=len(record.workers))
    report_exposed(record)
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


def _put_on_record(folder: Location, record: AttemptMembers | AttemptEnd) -> None:
    for last in (False, False, True):  # otherwise the attempt stays open in the records
        try:
            return publish_record(folder, record)
        except StorageError as error:  # a missing record must not stop the run
            if last:
                log.warning("attempt cannot be recorded", found=str(error))
    return None


def _may_help(cause: Cause | None, gang: Gang) -> bool:
    if cause is None or cause.repeats or gang.limits.execution_s == 0:
        return False
    # A sidecar, whose ranks come last, is a cause only after its own last restart.
    return cause.kind in ("exit", "signal", "lost") and (cause.rank or 0) < gang.plan.gang_size
