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
from audioloom_storage import Location, StorageError

from audioloom_yarn_launcher.asking import Asks
from audioloom_yarn_launcher.attempts import Formed, Started, record_end, record_roster
from audioloom_yarn_launcher.causes import Cause
from audioloom_yarn_launcher.claim import Launch, next_attempt
from audioloom_yarn_launcher.coordinator import (
    Gang,
    Interruption,
    begin_generation,
    close_gang,
    open_gang,
    pause,
    run_generation,
)
from audioloom_yarn_launcher.gang import Plan
from audioloom_yarn_launcher.kv import KeyValueStore
from audioloom_yarn_launcher.limits import Limits
from audioloom_yarn_launcher.recording import ended, formed
from audioloom_yarn_launcher.workers import Workers

FIRST_PAUSE_S, MOST_PAUSE_S = 0.5, 60.0
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

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
            seconds = min(FIRST_PAUSE_S * 2**restarts, MOST_PAUSE_S)
            log.warning(cause.text, attempt=started.attempt, starting_anew_in_s=seconds)
            written.append(meanwhile.submit(_put_on_record, record_end, folder, record))
            started = next_attempt(life, started)
            pause(gang, seconds)  # an interruption is seen, and recorded, by the next attempt
    for each in written:
        each.result()
    record_end(folder, record)
    return cause, started


@contextmanager
def gang_at_work(
    store: KeyValueStore,
    plan: Plan,
    limits: Limits,
    workers: Callable[[Callable[[], None]], Workers],
) -> Iterator[Gang]:
    """A gang that heeds this process's signals; its workers have ended when the block has.

    Args:
        store: where it meets.
        plan: what it runs.
        limits: how long each part of its life may take.
        workers: makes its workers, from what is to be called when one has ended.
    """
    wakes: queue.SimpleQueue[None] = queue.SimpleQueue()
    interruption = Interruption(wakes)
    gang = Gang(store, workers(lambda: wakes.put(None)), plan, wakes, interruption, limits)
    asks = Asks(interruption)
    before = {number: signal.signal(number, asks) for number in SIGNALS}
    try:
        open_gang(gang)
        yield gang
    finally:
        asks.close()
        close_gang(gang)
        for number, handler in before.items():
            signal.signal(number, handler)


def _note_formed(folder: Location, record: Formed) -> None:
    log.info("the gang is complete", attempt=record.attempt, workers=len(record.workers))
    _put_on_record(record_roster, folder, record)


def _put_on_record(
    publish: Callable[[Location, Record], None], folder: Location, record: Record
) -> None:
    try:
        publish(folder, record)
    except StorageError as error:  # the run goes on without
        log.warning("the attempt cannot be put on record", found=str(error))


def _may_help(cause: Cause, left: Limits) -> bool:
    if left.execution_s == 0:
        return False
    return not cause.repeats and cause.kind in ("exit", "signal", "lost")
