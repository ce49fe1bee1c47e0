"""`kill`: end a run that is at work, as its launcher would end it at Ctrl-C."""

import os
import signal
from contextlib import suppress

import structlog
from audioloom_stage.errors import InputMissing
from audioloom_stage.result import Result
from audioloom_storage import Location

from audioloom_yarn_launcher.monitoring.run_status import locate_run, read_run_status
from audioloom_yarn_launcher.rendezvous.messages import Stop
from audioloom_yarn_launcher.runs.application import ApplicationEnd, close_record, end_application
from audioloom_yarn_launcher.runs.attempts import read_attempts
from audioloom_yarn_launcher.runs.process_identity import ProcessIdentity, is_alive
from audioloom_yarn_launcher.settings import KillSettings, command_line
from audioloom_yarn_launcher.system.waiting import poll
from audioloom_yarn_launcher.yarn.configuration import find_hadoop
from audioloom_yarn_launcher.yarn.credentials import read_login
from audioloom_yarn_launcher.yarn.skein_client import connect

END_WITHIN_S = 30.0
LOOK_EVERY_S = 0.1

log = structlog.get_logger()


def kill_run(settings: KillSettings) -> Result:
    """End the run if it is at work; InputMissing if it was begun on another machine."""
    login = read_login(settings.keytab, settings.principal)
    folder = locate_run(settings.run)
    view = read_run_status(folder)
    if view.over:
        log.info("the run is over already", state=view.state)
    elif view.application is not None:
        application, launch = view.application
        log.info("ending the application", application=application)
        with connect(find_hadoop(), login) as cluster:
            report = end_application(cluster, application, lambda: Stop(signal=signal.SIGTERM))
        ours = [each for each in read_attempts(folder) if each.started.launch == launch]
        if ours:
            end = ApplicationEnd(application, report, ours, stopped_by=signal.SIGTERM)
            close_record(folder, end)
    elif view.last is not None:
        _end_process(folder, view.last.started.owner)
    data = {"run": folder.uri, "state": read_run_status(folder).state}
    return Result(str(folder), data, next=(command_line("status", folder),))


def _end_process(folder: Location, owner: ProcessIdentity) -> None:
    alive = is_alive(owner)
    if alive is None:
        raise InputMissing(
            "the run was begun on another machine",
            where=folder,
            found=str(owner),
            hint=f"Run `{command_line('kill', folder)}` there.",
        )
    if not alive:
        log.info("the launcher has just ended", process=owner.pid)
        return  # its number may be another process's by now
    log.info("ending the launcher", process=owner.pid)
    with suppress(ProcessLookupError):
        os.kill(owner.pid, signal.SIGTERM)
    while not poll(lambda: not is_alive(owner), every_s=LOOK_EVERY_S, within_s=END_WITHIN_S):
        # Its workers end with it, and whoever asks next finds out that it is gone.
        log.warning("the launcher does not end: killing it", process=owner.pid)
        with suppress(ProcessLookupError):
            os.kill(owner.pid, signal.SIGKILL)
