"""`attach`: wait for a run that another client began, and answer as `run` does."""

import time

import structlog
from audioloom_stage.errors import InputMissing
from audioloom_stage.logs import bind
from audioloom_stage.result import Result

from audioloom_yarn_launcher.commands.result import report_application
from audioloom_yarn_launcher.coordinator.report import result_of
from audioloom_yarn_launcher.monitoring.application_watch import ApplicationWatch
from audioloom_yarn_launcher.monitoring.failure_facts import loss_of_launcher
from audioloom_yarn_launcher.monitoring.run_status import RunStatus, locate_run, read_run_status
from audioloom_yarn_launcher.rendezvous.causes import Cause
from audioloom_yarn_launcher.runs.attempts import Attempt, cause_of
from audioloom_yarn_launcher.settings import RunOnlySettings
from audioloom_yarn_launcher.system.interrupts import SignalState, taking_signals
from audioloom_yarn_launcher.yarn.configuration import find_hadoop
from audioloom_yarn_launcher.yarn.skein_client import connect

LOOK_EVERY_S = 1.0

log = structlog.get_logger()


def attach_run(settings: RunOnlySettings) -> Result:
    """Wait for the run to end; Ctrl-C at a terminal leaves one on a cluster, as with `run`.

    One of this machine goes on when the waiting is ended: its own launcher is asked there.

    Raises:
        NoRun: there is none.
        InputMissing: nobody here can tell how it goes on.
    """
    folder = locate_run(settings.run)
    view = read_run_status(folder)
    bind(run=folder.name)
    if view.application is None:
        return _wait_here(view)
    application, launch = view.application
    log.info("waiting for the application", application=application)
    heard = SignalState()
    with connect(find_hadoop()) as cluster, taking_signals(heard, may_leave=True):
        ending = ApplicationWatch(cluster, folder, launch, application, heard).wait()
    return report_application(folder, application, ending)


def _wait_here(view: RunStatus) -> Result:
    """Poll the run's folder until its launcher, a process of this machine, has ended."""
    if view.state == "unknown" and view.last is not None:
        raise InputMissing(
            "how the run goes on cannot be told from here",
            where=view.folder,
            found=str(view.last.started.owner),
            hint="Look at it on that machine.",
        )
    if not view.over and view.last is not None:
        log.info("waiting for the run, which goes on without us", of=str(view.last.started.owner))
    while not view.over:
        time.sleep(LOOK_EVERY_S)
        view = read_run_status(view.folder)
    last = view.last
    if last is None:
        return result_of(view.folder, None, attempts=0, last=0)
    launch = last.started.launch
    attempts = sum(each.started.launch == launch for each in view.attempts)
    cause = None if view.state == "committed" else _cause(last)
    return result_of(view.folder, cause, attempts=attempts, last=last.started.attempt)


def _cause(last: Attempt) -> Cause | None:
    if last.ended is None or last.ended.restarts:
        return loss_of_launcher(last)
    return cause_of(last.ended)
