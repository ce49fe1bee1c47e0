"""The result of a command that waited for an application: its end, or that it goes on."""

import shutil
import sys

from audioloom_manifest.layout import MANIFEST_NAME
from audioloom_stage.result import JSON, Result
from audioloom_storage import Location, exists

from audioloom_yarn_launcher.coordinator.report import PROGRAM, result_of
from audioloom_yarn_launcher.monitoring.run_status import read_run_status, read_worker_statuses
from audioloom_yarn_launcher.monitoring.tables import report_arrivals, worker_table
from audioloom_yarn_launcher.runs.termination import ApplicationEnd, close_record
from audioloom_yarn_launcher.yarn.diagnostics import coordinator_outcome, refusal


def report_application(folder: Location, application: str, ending: ApplicationEnd | None) -> Result:
    """Report an application: that it goes on, or its end, with workers and cause on stderr.

    Raises:
        StageError: its coordinator did not begin.
    """
    if ending is None:
        data: dict[str, JSON] = {"run": folder.uri, "application": application, "detached": True}
        words = ("status", "logs --follow", "attach", "kill")
        return Result(str(folder), data, next=tuple(f"{PROGRAM} {each} {folder}" for each in words))
    told = coordinator_outcome(ending.report.diagnostics)
    if not ending.attempts and told is not None:
        if told[0]:
            raise refusal(*told, application=ending.application)
        return result_of(folder, None, attempts=0, last=0)
    cause = close_record(folder, ending)
    if ending.attempts:
        columns = shutil.get_terminal_size().columns if sys.stderr.isatty() else None
        for line in worker_table(read_worker_statuses(read_run_status(folder)), columns, over=True):
            sys.stderr.write(f"{line}\n")
        if cause is not None:
            report_arrivals(folder, ending.attempts[-1].started.attempt)
    return result_of(
        folder,
        None if exists(folder / MANIFEST_NAME) else cause,
        attempts=len(ending.attempts),
        last=ending.attempts[-1].started.attempt if ending.attempts else 0,
    )
