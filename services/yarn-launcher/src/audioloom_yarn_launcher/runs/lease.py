"""Own a run: of two launchers that are started for one run, one works and the other waits."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass, replace

import structlog
from audioloom_storage import Location

from audioloom_yarn_launcher.errors import Busy, OwnerUnknown
from audioloom_yarn_launcher.rendezvous.causes import TRY_AGAIN
from audioloom_yarn_launcher.rendezvous.roles import size_of
from audioloom_yarn_launcher.runs.attempts import (
    Attempt,
    AttemptEnd,
    AttemptStarted,
    FirstCause,
    begin,
    read_attempts,
    record_end,
)
from audioloom_yarn_launcher.runs.clock import now
from audioloom_yarn_launcher.runs.localization import Localization
from audioloom_yarn_launcher.runs.process_identity import is_alive, this_process
from audioloom_yarn_launcher.runs.record import check_manifest
from audioloom_yarn_launcher.runs.request import Request, check_same
from audioloom_yarn_launcher.system import processes

LOOK_AGAIN_S = 0.5

log = structlog.get_logger()


@dataclass(frozen=True)
class Launch:
    """One life of a launcher: what its records have in common."""

    request: Request
    size: int
    on: str
    id: str
    localization: Localization | None = None

    def attempt(self, number: int) -> AttemptStarted:
        """The record that begins an attempt. The generation rises with it, across launchers too."""
        return AttemptStarted(
            attempt=number,
            generation=number - 1,
            launch=self.id,
            started=now(),
            on=self.on,
            size=self.size,
            command=self.request.shown,
            working_folder=self.request.working_folder,
            owner=this_process(),
            localization=self.localization,
            roles=self.request.roles,
        )


def new_launch(request: Request, *, on: str) -> Launch:
    """This launcher's life."""
    return Launch(request, size_of(request.roles), on, uuid.uuid4().hex)


def relaunched(launch: Launch) -> Launch:
    """Another life for the same run, after one that was lost."""
    return replace(launch, id=uuid.uuid4().hex)


def claim(launch: Launch, *, wait: bool, take_over: int | None) -> AttemptStarted | None:
    """Begin the next attempt of the run; None if the run is committed, now or after waiting.

    Args:
        launch: of this launcher.
        wait: if another launcher is at work on the run, wait until it is not.
        take_over: the attempt whose launcher is gone, says who may know.

    Raises:
        OtherCommand: the run belongs to another command.
        Busy: another launcher is at work, and this one is not to wait.
        OwnerUnknown: nobody here can tell whether it is.
        ManifestError: what was committed is damaged or made up.
    """
    while (number := wait_for_turn(launch, wait=wait, take_over=take_over)) is not None:
        started = launch.attempt(number)
        if begin(launch.request.folder, started):
            return started  # otherwise another was faster: look at it
    return None


def wait_for_turn(launch: Launch, *, wait: bool, take_over: int | None) -> int | None:
    """The number of the run's next attempt, as soon as nobody is at work on it; see `claim`."""
    folder, told = launch.request.folder, False
    while True:
        attempts = read_attempts(folder)
        check_same(launch.request, attempts)
        if launch.request.committed:
            check_manifest(launch.request.manifest)
            if launch.request.named_by_hand and launch.request.hides_settings:
                log.warning(
                    "what is masked was not compared with the command of this run: if it is another"
                    " setting now, give another --name",
                    command=" ".join(launch.request.shown),
                )
            return None
        last = attempts[-1] if attempts else None
        if last is None or not last.open:
            return last.started.attempt + 1 if last else 1
        if _is_gone(last, folder, take_over):
            close_lost(folder, last)
            return last.started.attempt + 1
        if not wait:
            raise _busy(last, folder)
        if not told:
            log.info(
                "another launcher is at work on this run: waiting", owner=str(last.started.owner)
            )
            told = True
        time.sleep(LOOK_AGAIN_S)


def next_attempt(launch: Launch, before: AttemptStarted) -> AttemptStarted:
    """Begin the attempt after one of this launcher's own.

    Raises:
        Busy: another launcher took the run over, because this one was declared gone.
    """
    started = launch.attempt(before.attempt + 1)
    if not begin(launch.request.folder, started):
        raise _busy(read_attempts(launch.request.folder)[-1], launch.request.folder)
    return started


def _is_gone(last: Attempt, folder: Location, take_over: int | None) -> bool:
    alive = is_alive(last.started.owner)
    if alive is None and take_over != last.started.attempt:
        raise OwnerUnknown(
            f"attempt {last.started.attempt} of this run was begun elsewhere and has no end",
            where=folder,
            expected="an end, or a launcher of this machine that can be asked",
            found=f"{last.started.owner}, begun {last.started.started}",
            hint="Look there whether it lives; if it is gone, run this again with"
            f" --take-over {last.started.attempt}",
        )
    return not alive


def _busy(last: Attempt, folder: Location) -> Busy:
    return Busy(
        "another launcher is at work on this run",
        where=folder,
        found=f"{last.started.owner}, begun {last.started.started}",
        hint=f"audioloom-yarn-launcher status {folder}",
    )


def close_lost(folder: Location, last: Attempt, *, restarts: bool = False) -> FirstCause:
    """End what a lost launcher's workers may still run here, and put its end on record.

    Args:
        folder: of the run.
        last: the attempt that it left open.
        restarts: whether the same launch goes on, by another coordinator.

    Returns:
        What is on record now as the cause.
    """
    started = last.started
    cause = FirstCause(
        kind="launcher-lost",
        text=f"the launcher was lost: {started.owner} is gone",
        exit_code=TRY_AGAIN,
    )
    processes.sweep(f"{started.launch}/")
    record_end(
        folder,
        AttemptEnd(
            attempt=started.attempt,
            generation=started.generation,
            launch=started.launch,
            started=started.started,
            ended=None,
            outcome="failed",
            exit_code=TRY_AGAIN,
            cause=cause,
            restarts=restarts,
        ),
    )
    return cause
