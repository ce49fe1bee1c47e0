"""The termination of an application, and the record of one whose coordinator left none."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import structlog
from audioloom_stage.errors import StageError
from audioloom_stage.exit_codes import exit_code
from audioloom_storage import Location

from audioloom_yarn_launcher.errors import ResourceManagerDown
from audioloom_yarn_launcher.rendezvous.causes import TRY_AGAIN, Cause
from audioloom_yarn_launcher.rendezvous.messages import Stop
from audioloom_yarn_launcher.runs.attempts import Attempt, publish_record
from audioloom_yarn_launcher.runs.layout import now
from audioloom_yarn_launcher.yarn.container_logs import last_words
from audioloom_yarn_launcher.yarn.diagnostics import explain, is_known
from audioloom_yarn_launcher.yarn.resource_manager import Application
from audioloom_yarn_launcher.yarn.skein_client import Cluster

LOOK_EVERY_S = 0.3
STOP_WITHIN_S = 30.0

log = structlog.get_logger()


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
            told = asked.times
            try:
                cluster.stop(application, asked)
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
        told = ending.report.diagnostics
        said = "" if is_known(told) else last_words(ending.application)
        error = explain(told, application=ending.application, said=said)
        if last is None:
            raise error
        text = f"{error.summary} ({ending.application} {ending.report.state}: {error.found})"
        cause = Cause("launcher-lost", text, int(exit_code(error)) or TRY_AGAIN)
    if last is not None:
        publish_record(folder, last.started.end(cause, told=cause, ended=now()))
        log.info("put on record for the coordinator", attempt=last.number)
    return cause
