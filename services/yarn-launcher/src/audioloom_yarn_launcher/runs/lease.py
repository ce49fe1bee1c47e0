"""The lease of a run: of two launchers for one run, one works and the other waits.

A new application master continues the launch of a lost one from its records: YARN starts another
master after a lost one, and also after one that ended a failed run. The new master finds an empty
store, and container names start over, so only the records tell the past.
"""

import shlex
import time
from dataclasses import dataclass

import structlog
from audioloom_stage.errors import TryAgain
from audioloom_stage.redaction import redact_words
from audioloom_storage import Location

from audioloom_yarn_launcher.rendezvous.causes import Cause
from audioloom_yarn_launcher.runs.attempts import (
    Attempt,
    AttemptStarted,
    begin,
    executed_s,
    publish_record,
    read_attempts,
)
from audioloom_yarn_launcher.runs.command_identity import check_same
from audioloom_yarn_launcher.runs.process_identity import is_alive
from audioloom_yarn_launcher.runs.record import check_manifest
from audioloom_yarn_launcher.runs.run_spec import RunSpec
from audioloom_yarn_launcher.system import processes

LOOK_AGAIN_S = 0.5

log = structlog.get_logger()


def acquire(spec: RunSpec) -> AttemptStarted | None:
    """Begin the next attempt of the run; None if the run is committed, now or after a wait.

    Raises:
        NameTaken: the run belongs to another command.
        TryAgain: another launcher is at work and the settings forbid a wait, or it is unknown
            whether it is.
        ManifestError: the run's manifest is damaged or not a training run's.
    """
    while (number := wait_for_turn(spec)) is not None:
        started = spec.attempt(number)
        if begin(spec.location, started):
            return started  # else another launcher was faster
    return None


def wait_for_turn(spec: RunSpec) -> int | None:
    """Wait until no launcher works on the run; return its next attempt's number. See `acquire`."""
    folder, seen = spec.location, None
    while True:
        attempts = read_attempts(folder)
        check_same(spec, attempts)
        if spec.committed:
            check_manifest(spec.manifest)
            perhaps_settings = redact_words(spec.command, passwords_only=True)  # as in `-p 0.5`
            if spec.named_by_hand and perhaps_settings != spec.shown:
                log.warning(
                    "what is masked was not compared with the command of this run: if it is another"
                    " setting now, give another --name",
                    command=" ".join(spec.shown),
                )
            return None
        last = attempts[-1] if attempts else None
        if last is None or not last.open:
            return last.number + 1 if last else 1
        owner = last.started.owner
        if _is_gone(last, folder, spec.take_over, seen=owner == seen):
            close_lost(folder, last)
            return last.number + 1
        if not spec.wait:
            raise _busy(last, folder)
        if seen is None:
            log.info("another launcher is at work on this run: waiting", owner=str(owner))
        seen = owner
        time.sleep(LOOK_AGAIN_S)


def next_attempt(spec: RunSpec, before: AttemptStarted) -> AttemptStarted:
    """Begin the attempt that follows this launcher's previous attempt.

    TryAgain if the user declared this launcher gone, and another took the run over.
    """
    started = spec.attempt(before.attempt + 1)
    if not begin(spec.location, started):
        raise _busy(read_attempts(spec.location)[-1], spec.location)
    return started


@dataclass(frozen=True)
class Recovered:
    """The state of a launch, recovered from its records.

    Args:
        attempts: number of its attempts, which count as restarts.
        executed_s: seconds in which the gang was complete in them.
    """

    attempts: int = 0
    executed_s: float = 0.0
    over: bool = False
    cause: Cause | None = None


def recover(spec: RunSpec) -> Recovered:
    """Read the attempts of this launch, and close the attempt that a lost coordinator left open.

    `max_restarts` limits the restarts by all coordinators of a launch together.
    """
    folder = spec.location
    mine = [each for each in read_attempts(folder) if each.started.launch == spec.launch]
    if not mine or spec.committed:
        return Recovered(len(mine))
    last = mine[-1]
    again = len(mine) <= spec.max_restarts
    if not last.open:
        return Recovered(len(mine), over=True, cause=last.cause)
    lost = close_lost(folder, last, restarts=again)
    if not again:
        return Recovered(len(mine), over=True, cause=lost)
    return Recovered(len(mine), executed_s(folder, mine))


def close_lost(folder: Location, last: Attempt, *, restarts: bool = False) -> Cause:
    """Kill the leftover processes of a lost launcher here; record its end, and return the cause.

    The record says whether another coordinator *restarts* the gang in the same launch.
    """
    processes.sweep(f"{last.started.launch}/")
    record = last.started.end(last.loss, told=last.loss, ended=None, restarts=restarts)
    publish_record(folder, record)
    return last.loss


def _is_gone(last: Attempt, folder: Location, take_over: int | None, *, seen: bool) -> bool:
    """Return whether the owner of an attempt is gone; it lives on if it was *seen* a moment ago."""
    owner = last.started.owner
    alive = is_alive(owner)
    if alive is None and seen:
        return False
    if alive is not None or take_over == last.number:
        return not alive
    if owner.application is not None:
        raise TryAgain(
            "the ResourceManager does not tell whether this run is at work",
            where=folder,
            expected=f"an answer about {owner.application}, which began attempt {last.number}",
            hint="Run this again when it answers (with Kerberos, after kinit), or with"
            f" --take-over {last.number} if the application is gone.",
        )
    raise TryAgain(
        f"attempt {last.number} of this run was begun elsewhere and has no end",
        where=folder,
        expected="an end, or a launcher of this machine that can be asked",
        found=f"{owner}, begun {last.started.started}",
        hint="Look there whether it lives. If it is gone, run this again with"
        f" --take-over {last.number}",
    )


def _busy(last: Attempt, folder: Location) -> TryAgain:
    return TryAgain(
        "another launcher is at work on this run",
        where=folder,
        found=f"{last.started.owner}, begun {last.started.started}",
        hint=shlex.join(["audioloom-yarn-launcher", "status", str(folder)]),
    )
