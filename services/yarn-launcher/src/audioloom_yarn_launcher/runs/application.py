"""The application of a run: why it has not begun, its turn, its termination and its last record.

An application is pending when it was submitted and no attempt of its run has begun.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import structlog
from audioloom_stage.errors import StageError, TryAgain
from audioloom_stage.exit_codes import exit_code
from audioloom_storage import Location

from audioloom_yarn_launcher.errors import ResourceManagerDown
from audioloom_yarn_launcher.rendezvous.causes import TRY_AGAIN, Cause
from audioloom_yarn_launcher.rendezvous.messages import Stop
from audioloom_yarn_launcher.runs.attempts import Attempt, publish_record, read_attempts
from audioloom_yarn_launcher.runs.layout import now
from audioloom_yarn_launcher.runs.lease import wait_for_turn
from audioloom_yarn_launcher.runs.run_spec import RunSpec
from audioloom_yarn_launcher.runs.submissions import Submission, read_submissions
from audioloom_yarn_launcher.settings import command_line
from audioloom_yarn_launcher.yarn import application_errors
from audioloom_yarn_launcher.yarn.container_logs import last_words
from audioloom_yarn_launcher.yarn.resource_manager import Application, look_up
from audioloom_yarn_launcher.yarn.skein_client import Cluster

LOOK_AGAIN_S, LOOK_EVERY_S = 1.0, 0.3
STOP_WITHIN_S = 30.0

log = structlog.get_logger()


@dataclass(frozen=True)
class Pending:
    """A submitted application without an attempt."""

    submission: Submission
    application: Application | None

    @property
    def waits(self) -> bool | None:
        """Whether the application may still begin; None if unknown."""
        return None if self.application is None else not self.application.ended

    @property
    def because(self) -> str:
        """The reason why the application has not begun, in a sentence."""
        found = self.application
        if found is None:
            return "the ResourceManager does not tell how it is"
        if found.state == "GONE":
            return "the ResourceManager knows nothing of it any more"
        if not found.ended:
            return application_errors.why_it_waits(found.state, found.diagnostics)
        application = self.submission.application
        error = application_errors.end_error(found.diagnostics, application=application)
        return f"{error.summary}: {error.found}" if error.found else error.summary


def find_pending(folder: Location, attempts: Sequence[Attempt]) -> Pending | None:
    """Find the newest application that waits, else the newest of unknown state, else the newest.

    Submissions that are older than the last attempt are ignored.
    """
    last = attempts[-1].number if attempts else 0
    submitted = read_submissions(folder, {each.started.launch for each in attempts})
    found: list[Pending] = []
    for each in submitted:
        if each.after_attempt < last:
            break
        found.append(Pending(each, look_up(each.application)))
        if found[-1].waits:
            return found[-1]
    return next((each for each in found if each.waits is None), found[0] if found else None)


def report_pending(pending: Pending) -> None:
    """Log that a run has not begun, and the reason."""
    found = pending.application
    log.info(
        "the run has not begun: its application waits",
        application=pending.submission.application,
        state=found.state if found else "unknown",
        because=pending.because,
    )


def wait_to_submit(spec: RunSpec) -> int | None:
    """Wait as `wait_for_turn` does, and for another launcher's pending application too."""
    folder, reported = spec.location, False
    while (number := wait_for_turn(spec)) is not None:
        pending = find_pending(folder, read_attempts(folder))
        if pending is None or not pending.waits:
            return number
        if not spec.wait:
            raise TryAgain(
                "another launcher's application for this run waits to begin",
                where=folder,
                found=f"{pending.submission.application}: {pending.because}",
                hint=command_line("status", folder),
            )
        if not reported:
            report_pending(pending)
            reported = True
        time.sleep(LOOK_AGAIN_S)
    return None


@dataclass(frozen=True)
class ApplicationEnd:
    """The end of an application; *stopped_by* is the signal that ended it, 0 if there was none."""

    application: str
    report: Application
    attempts: Sequence[Attempt]
    stopped_by: int = 0


def end_application(cluster: Cluster, application: str, stop: Callable[[], Stop]) -> Application:
    """Ask the coordinator to end the run; YARN kills the application after half a minute.

    It asks again whenever *stop* returns a more urgent request; ResourceManagerDown if none is up.
    """
    told, killed = 0, False
    deadline = time.monotonic() + STOP_WITHIN_S
    while True:
        asked = stop()
        if asked.times > told and not killed:
            more, told = replace(asked, times=asked.times - told), asked.times
            try:
                cluster.stop(application, more)
            except StageError:  # it has no master yet, or its master does not answer
                cluster.kill(application)
                killed = True
        report = cluster.report(application)
        if report.ended:
            return report
        if told and not killed and report.state == "ACCEPTED":
            # The master has ended, and YARN would start another one without work.
            cluster.kill(application)
            killed = True
        if time.monotonic() > deadline:
            if killed:
                raise ResourceManagerDown(
                    "the application was told to end, and has not",
                    where=application,
                    found=report.state,
                    hint=f"yarn application -status {application}",
                )
            log.warning("the coordinator does not answer: YARN ends the application")
            cluster.kill(application)
            killed, deadline = True, time.monotonic() + STOP_WITHIN_S
        time.sleep(LOOK_EVERY_S)


def close_record(folder: Location, ending: ApplicationEnd) -> Cause | None:
    """Return why the run ended, and record it if nobody did; StageError if it never began."""
    last = ending.attempts[-1] if ending.attempts else None
    if last is not None and not last.open:
        return last.cause
    if ending.stopped_by:
        text = f"{ending.application} was ended before its coordinator could end the run"
        cause = Cause("interrupted", text, exit_code=128 + ending.stopped_by)
    else:
        told, application = ending.report.diagnostics, ending.application
        error = application_errors.end_error(told, application=application, last_words=last_words)
        if last is None:
            raise error
        yarn = f"{application} {ending.report.state}"
        text = f"{error.summary} ({f'{yarn}: {error.found}' if error.found else yarn})"
        cause = Cause("launcher-lost", text, int(exit_code(error)) or TRY_AGAIN)
    if last is not None:
        publish_record(folder, last.started.end(cause, told=cause, ended=now()))
        log.info("put on record for the coordinator", attempt=last.number)
    return cause
