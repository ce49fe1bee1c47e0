"""`run`: claim the run, let the gang work, start it anew while that helps, say how it ended."""

from __future__ import annotations

import queue
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from audioloom_stage import JSON, Result, bind
from audioloom_storage import Location

from audioloom_yarn_launcher.attempts import Started, record_end, record_roster
from audioloom_yarn_launcher.causes import Cause
from audioloom_yarn_launcher.claim import Launch, claim, new_launch, next_attempt
from audioloom_yarn_launcher.coordinator import (
    Gang,
    Interruption,
    close_gang,
    open_gang,
    pause,
    run_generation,
)
from audioloom_yarn_launcher.gang import Plan, Roster
from audioloom_yarn_launcher.local_kv import StoreServer
from audioloom_yarn_launcher.local_workers import AgentCommand, LocalWorkers, worker_command
from audioloom_yarn_launcher.memory_kv import MemoryStore
from audioloom_yarn_launcher.recording import ended, formed
from audioloom_yarn_launcher.request import Request, read_request
from audioloom_yarn_launcher.settings import RunSettings
from audioloom_yarn_launcher.telling import PROGRAM, tell_failure

FIRST_PAUSE_S, MOST_PAUSE_S = 0.5, 60.0
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

log = structlog.get_logger()


def launch(settings: RunSettings, agents: AgentCommand | None = None) -> Result:
    """Run a command by a gang of workers on this machine.

    Args:
        settings: of `run`.
        agents: the command of a worker, if not the one of this program.
    """
    request = read_request(settings)
    bind(run=request.name)
    life = new_launch(request, size=settings.workers, on=settings.on)
    started = claim(life, wait=settings.wait, take_over=settings.take_over)
    if started is None:
        log.info("already committed", manifest=str(request.manifest))
        return _result(request, None, attempts=0, last=0)
    with local_gang(life, settings, agents or worker_command(settings.advertise)) as gang:
        cause, last = run_attempts(gang, life, started, settings.max_restarts)
    attempts = last.attempt - started.attempt + 1
    return _result(request, cause, attempts=attempts, last=last.attempt)


def run_attempts(
    gang: Gang, life: Launch, started: Started, max_restarts: int
) -> tuple[Cause | None, Started]:
    """Run generation after generation until one ends well or starting anew would not help.

    Returns:
        Why the last one failed, None if the work is done; and which one that was.
    """
    folder = life.request.folder
    for restarts in range(max_restarts + 1):
        went = run_generation(
            gang,
            attempt=started.attempt,
            generation=started.generation,
            formed=lambda roster: _note_formed(folder, roster),
        )
        cause = None if life.request.committed else went.cause
        again = cause is not None and restarts < max_restarts and _may_help(cause)
        record_end(folder, ended(started, went, cause, restarts=again))
        if not again:
            return cause, started
        assert cause is not None  # noqa: S101 - or there were no again
        seconds = min(FIRST_PAUSE_S * 2**restarts, MOST_PAUSE_S)
        log.warning(cause.text, attempt=started.attempt, starting_anew_in_s=seconds)
        started = next_attempt(life, started)
        pause(gang, seconds)  # an interruption is seen, and recorded, by the attempt that begins
    raise AssertionError("the last attempt returns")


@contextmanager
def local_gang(life: Launch, settings: RunSettings, agents: AgentCommand) -> Iterator[Gang]:
    """A gang of processes of this machine; all of them have ended when the block has."""
    store = MemoryStore()
    server = StoreServer(store)
    wakes: queue.SimpleQueue[None] = queue.SimpleQueue()
    interruption = Interruption(wakes)
    plan = Plan(settings.workers, life.request.command, life.request.folder.uri, marker=life.id)
    workers = LocalWorkers(
        plan.size,
        server=server,
        marker=plan.marker,
        command=agents,
        changed=lambda: wakes.put(None),
    )
    gang = Gang(store, workers, plan, wakes, interruption, settings.timeout_registration)
    before = {number: signal.signal(number, interruption) for number in SIGNALS}
    try:
        open_gang(gang)
        yield gang
    finally:
        close_gang(gang)
        server.close()
        for number, handler in before.items():
            signal.signal(number, handler)


def _note_formed(folder: Location, roster: Roster) -> None:
    record_roster(folder, formed(roster))
    log.info("the gang is complete", attempt=roster.attempt, workers=len(roster.members))


def _may_help(cause: Cause) -> bool:
    return not cause.repeats and cause.kind in ("exit", "signal", "lost")


def _result(request: Request, cause: Cause | None, *, attempts: int, last: int) -> Result:
    committed = request.committed
    data: dict[str, JSON] = {
        "run": request.folder.uri,
        "manifest": request.manifest.uri if committed else None,
        "attempts": attempts,
        "exit_code": cause.exit_code if cause else 0,
        "cause": cause.text if cause else None,
    }
    if cause is None:
        look = (f"{PROGRAM} status {request.folder}",)
        return Result(str(request.manifest if committed else request.folder), data, next=look)
    tell_failure(request.folder, cause, last)
    return Result((), data, exit_code=cause.exit_code)
