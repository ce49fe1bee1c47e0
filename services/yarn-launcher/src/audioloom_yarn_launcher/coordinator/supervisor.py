"""Let a gang work, and start it anew while that helps; wherever its workers are."""

from __future__ import annotations

import queue
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar

import structlog
from audioloom_storage import AlreadyExists, Location, StorageError, locate

from audioloom_yarn_launcher.coordinator.attempt_record import ended, formed
from audioloom_yarn_launcher.coordinator.context import Gang, Interruption, pause
from audioloom_yarn_launcher.coordinator.generation import (
    begin_generation,
    close_gang,
    end_those_beside,
    open_gang,
    run_generation,
)
from audioloom_yarn_launcher.coordinator.report import tell_exposed
from audioloom_yarn_launcher.coordinator.sidecar_notes import BesideNotes
from audioloom_yarn_launcher.coordinator.sidecars import Beside
from audioloom_yarn_launcher.coordinator.timeouts import Limits, pause_s
from audioloom_yarn_launcher.rendezvous.backend import Workers
from audioloom_yarn_launcher.rendezvous.causes import Cause
from audioloom_yarn_launcher.rendezvous.kv import KeyValueStore
from audioloom_yarn_launcher.rendezvous.messages import Plan
from audioloom_yarn_launcher.rendezvous.roles import Group
from audioloom_yarn_launcher.runs.attempts import Formed, Started, record_end, record_roster
from audioloom_yarn_launcher.runs.lease import Launch, next_attempt
from audioloom_yarn_launcher.system.interrupts import Asks

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

Changed = Callable[[], None]
Record = TypeVar("Record")

log = structlog.get_logger()


def run_attempts(
    gang: Gang, life: Launch, started: Started, max_restarts: int, *, before: int = 0
) -> tuple[Cause | None, Started]:
    """Run generation after generation until one ends well or starting anew would not help.

    What others wait for is on record before anything depends on it: that an attempt is begun, and
    how the last one ended. How one ended that another follows, and who came, is written meanwhile.

    Args:
        gang: opened.
        life: the launch that it belongs to.
        started: its next attempt, begun.
        max_restarts: how often the launch may start the gang anew.
        before: how many attempts it has made already, by coordinators that were lost.

    Returns:
        Why the last one failed, None if the work is done; and which one that was.
    """
    folder = life.request.folder
    groups = gang.plan.groups
    written: list[Future[None]] = []
    begin_generation(gang, started.generation)
    with ThreadPoolExecutor(1, "records") as meanwhile:
        for restarts in range(before, max_restarts + 1):
            went = run_generation(
                gang,
                attempt=started.attempt,
                generation=started.generation,
                formed=lambda roster: written.append(
                    meanwhile.submit(_note_formed, folder, formed(roster, groups))
                ),
                goes_on=restarts < max_restarts,
            )
            cause = None if life.request.committed else went.cause
            gang = replace(gang, limits=gang.limits.after(went.executed_s))
            again = cause is not None and restarts < max_restarts and _may_help(cause, gang.limits)
            record = ended(started, went, cause, groups, restarts=again)
            if not again:
                break
            assert cause is not None  # noqa: S101 - or there were no again
            begin_generation(gang, started.generation + 1)
            seconds = pause_s(restarts)
            log.warning(cause.text, attempt=started.attempt, starting_anew_in_s=round(seconds, 1))
            written.append(meanwhile.submit(_put_on_record, record_end, folder, record))
            started = next_attempt(life, started)
            pause(gang, seconds)  # an interruption is seen, and recorded, by the next attempt
        end_those_beside(gang)
    for each in written:
        each.result()
    record_end(folder, record)
    return cause, started


@contextmanager
def gang_at_work(
    store: KeyValueStore,
    plan: Plan,
    limits: Limits,
    workers: Callable[[Changed], Workers],
    beside: Callable[[Group, Changed], Workers] | None = None,
) -> Iterator[Gang]:
    """A gang that heeds this process's signals; its workers have ended when the block has.

    Args:
        store: where it meets.
        plan: what it runs.
        limits: how long each part of its life may take.
        workers: makes its workers, from what is to be called when one has ended.
        beside: makes those of a role that is beside the gang.
    """
    wakes: queue.SimpleQueue[None] = queue.SimpleQueue()

    def changed() -> None:
        wakes.put(None)

    def of_a_role(group: Group) -> Workers:
        if beside is None:
            raise ValueError(f"there is no place for {group.role}")
        return beside(group, changed)

    notes = BesideNotes(locate(plan.folder), plan.groups)
    interruption = Interruption(wakes)
    alongside = Beside(store, plan, limits, of_a_role, notes)
    gang = Gang(store, workers(changed), plan, wakes, interruption, limits, alongside)
    asks = Asks(interruption)
    before = {number: signal.signal(number, asks) for number in SIGNALS}
    try:
        open_gang(gang)
        yield gang
    finally:
        asks.close()
        close_gang(gang)
        notes.close()
        for number, handler in before.items():
            signal.signal(number, handler)


def _note_formed(folder: Location, record: Formed) -> None:
    log.info("the gang is complete", attempt=record.attempt, workers=len(record.workers))
    tell_exposed(record)
    _put_on_record(record_roster, folder, record)


def _put_on_record(
    publish: Callable[[Location, Record], None], folder: Location, record: Record
) -> None:
    for last in (False, False, True):  # or an attempt stays open in the records for ever
        try:
            return publish(folder, record)
        except AlreadyExists:  # an earlier try was done after all
            return None
        except StorageError as error:  # the run goes on without
            if last:
                log.warning("the attempt cannot be put on record", found=str(error))
    return None


def _may_help(cause: Cause, left: Limits) -> bool:
    if left.execution_s == 0:
        return False
    return not cause.repeats and cause.kind in ("exit", "signal", "lost")
