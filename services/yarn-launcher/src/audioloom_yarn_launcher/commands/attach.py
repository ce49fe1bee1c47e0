"""`attach`: wait for a run that another client began, and answer as `run` does."""

import shutil
import sys
import time

import structlog
from audioloom_manifest.layout import MANIFEST_NAME
from audioloom_stage.errors import InputMissing
from audioloom_stage.logs import bind
from audioloom_stage.result import JSON, Result
from audioloom_storage import Location, Unavailable, exists

from audioloom_yarn_launcher.monitoring import run_status
from audioloom_yarn_launcher.monitoring.application_watch import ApplicationWatch
from audioloom_yarn_launcher.monitoring.failure_report import result_of
from audioloom_yarn_launcher.monitoring.live import HINT, shown_beside
from audioloom_yarn_launcher.monitoring.tables import worker_table
from audioloom_yarn_launcher.runs.application import ApplicationEnd, close_record
from audioloom_yarn_launcher.settings import RunOnlySettings, command_line
from audioloom_yarn_launcher.system.interrupts import SignalState, taking_signals
from audioloom_yarn_launcher.yarn.application_errors import coordinator_outcome, refusal
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
    folder = run_status.locate_run(settings.run)
    view = run_status.read_run_status(folder)
    bind(run=folder.name)
    if view.application is None:
        return _wait_here(view)
    application, launch = view.application
    log.info("waiting for the application", application=application)
    heard = SignalState()
    with connect(find_hadoop()) as cluster, taking_signals(heard, may_leave=True):
        watch = ApplicationWatch(cluster, folder, launch, application, heard)
        with shown_beside(folder, HINT):
            ending = watch.wait()
    return report_application(folder, application, ending)


def _wait_here(view: run_status.RunStatus) -> Result:
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
    unread = False
    with shown_beside(view.folder, HINT):
        while not view.over:
            time.sleep(LOOK_EVERY_S)
            try:
                view = run_status.read_run_status(view.folder)
                unread = False
            except Unavailable as error:  # while the storage is away, the run may go on
                if not unread:
                    log.warning("the records of the run cannot be read: waiting", found=str(error))
                unread = True
    last = view.last
    if last is None:
        return result_of(view.folder)
    launch = last.started.launch
    attempts = sum(each.started.launch == launch for each in view.attempts)
    cause = None if view.state == "committed" else last.cause
    return result_of(view.folder, cause, attempts=attempts)


def report_application(folder: Location, application: str, ending: ApplicationEnd | None) -> Result:
    """Report that an application goes on, or its end; StageError if its run never began."""
    if ending is None:
        data: dict[str, JSON] = {"run": folder.uri, "application": application, "detached": True}
        words = (("status",), ("logs", "--follow"), ("attach",), ("kill",))
        return Result(str(folder), data, next=tuple(command_line(*each, folder) for each in words))
    told = coordinator_outcome(ending.report.diagnostics)
    if not ending.attempts and told is not None:
        if told[0]:
            raise refusal(*told, application=ending.application)
        return result_of(folder)
    cause = close_record(folder, ending)
    if ending.attempts:
        columns = shutil.get_terminal_size().columns if sys.stderr.isatty() else None
        for line in worker_table(
            run_status.read_worker_statuses(run_status.read_run_status(folder)), columns, over=True
        ):
            sys.stderr.write(f"{line}\n")
    cause = None if exists(folder / MANIFEST_NAME) else cause
    return result_of(folder, cause, attempts=len(ending.attempts))
