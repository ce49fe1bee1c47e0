"""`status`: one page on a run, and on each of its workers."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from audioloom_manifest.layout import MANIFEST_NAME
from audioloom_runs import tables
from audioloom_runs.run_times import wall_time, wall_time_table
from audioloom_stage.result import JSON, Result, result_columns

from audioloom_yarn_launcher.monitoring.live import show_live
from audioloom_yarn_launcher.monitoring.run_status import (
    RunStatus,
    WorkerStatus,
    locate_run,
    read_run_status,
    read_worker_statuses,
)
from audioloom_yarn_launcher.monitoring.tables import arrivals_of, arrivals_table, worker_table
from audioloom_yarn_launcher.runs.application import Pending
from audioloom_yarn_launcher.runs.record import check_manifest
from audioloom_yarn_launcher.settings import StatusSettings, command_line


def show_status(settings: StatusSettings) -> Result:
    """Show the state of the run; ManifestError of a damaged manifest."""
    folder = locate_run(settings.run)
    if settings.follow:
        show_live(folder)
    view = read_run_status(folder)
    if view.state == "committed":
        check_manifest(folder / MANIFEST_NAME)
    workers, seconds = read_worker_statuses(view), wall_time(folder)
    columns = result_columns()
    text = _head(view, workers).splitlines()
    for table in (
        worker_table(workers, columns, over=view.over),
        arrivals_table(arrivals_of(view.last), columns),
        wall_time_table(seconds).splitlines() if seconds else [],
    ):
        text += ["", *table] if table else []
    follow = () if view.over else (command_line("logs", view.folder, "--follow"),)
    return Result(text, _data(view, workers, seconds), next=follow)


def _head(view: RunStatus, workers: Sequence[WorkerStatus]) -> str:
    facts = {"run": view.folder.name, "state": view.state, "folder": str(view.folder)}
    if view.state == "committed":
        facts["manifest"] = str(view.folder / MANIFEST_NAME)
    last = view.last
    if last is not None:
        started = last.started
        facts["command"] = " ".join(started.command)
        facts["workers"] = f"{started.size} ({started.on})"
        facts["attempt"] = f"{started.attempt}, begun {started.started}"
        facts["launcher"] = str(started.owner)
        if last.ended is not None:
            facts["ended"] = last.ended.ended or "unseen"
        if exposed := {seat.exposed for seat in last.workers if seat.exposed}:
            facts["exposed"] = "; ".join(sorted(exposed))
    facts |= {worker.role: worker.page for worker in workers if worker.page}
    if view.pending is not None:
        facts |= _waiting(view.pending)
    for attempt in view.attempts:
        if attempt.ended is not None and attempt.ended.cause is not None:
            facts[f"cause of {attempt.number}"] = attempt.ended.cause.text
    return tables.facts(facts, columns=result_columns())


def _waiting(pending: Pending) -> dict[str, str]:
    submission, found = pending.submission, pending.application
    state = f" ({found.state})" if found else ""
    facts = {
        "command": " ".join(submission.command),
        "workers": f"{submission.size} (yarn)",
        "application": f"{submission.application}{state}, submitted {submission.submitted}",
    }
    return facts | {"because": pending.because}


def _data(
    view: RunStatus, workers: Sequence[WorkerStatus], seconds: Mapping[str, float]
) -> Mapping[str, JSON]:
    return {
        "run": view.folder.uri,
        "name": view.folder.name,
        "state": view.state,
        "manifest": (view.folder / MANIFEST_NAME).uri if view.state == "committed" else None,
        "application": _application(view.pending),
        "attempts": [
            {
                "attempt": each.number,
                "generation": each.started.generation,
                "started": each.started.started,
                "ended": each.ended.ended if each.ended else None,
                "outcome": each.ended.outcome if each.ended else None,
                "exit_code": each.ended.exit_code if each.ended else None,
                "cause": each.ended.cause.text if each.ended and each.ended.cause else None,
            }
            for each in view.attempts
        ],
        "seconds": {name: round(value, 3) for name, value in seconds.items()},
        "arrivals": [asdict(each) for each in arrivals_of(view.last)],
        "workers": [
            vars(worker)
            | {
                "exit": worker.exit or None,
                "log": worker.log.uri if worker.log else None,
                "page": worker.page or None,
                "progress": _finite(worker.progress),
                "usage": _finite(worker.usage),
            }
            for worker in workers
        ],
    }


def _finite(value: JSON) -> JSON:
    """Replace NaN and infinity, which JSON lacks, by None: any program may write them."""
    match value:
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {key: _finite(each) for key, each in value.items()}
        case list():
            return [_finite(each) for each in value]
        case _:
            return value


def _application(pending: Pending | None) -> JSON:
    if pending is None:
        return None
    return {
        "id": pending.submission.application,
        "submitted": pending.submission.submitted,
        "state": pending.application.state if pending.application else None,
        "because": pending.because,
    }
