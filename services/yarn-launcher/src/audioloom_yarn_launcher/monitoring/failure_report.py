"""The result of `run`, and the first cause of its failure, as `run` and `explain` tell it.

The facts on a run's attempts come from its records, progress and logs, and from YARN.
"""

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import structlog
from audioloom_manifest.layout import MANIFEST_NAME
from audioloom_runs.progress import Line
from audioloom_runs.scores import tell_scores
from audioloom_stage.escapes import safe_text
from audioloom_stage.logs import current_logs
from audioloom_stage.result import JSON, Result
from audioloom_stage.terminal import write_line
from audioloom_storage import Location, exists

from audioloom_yarn_launcher.monitoring.error_lines import error_line
from audioloom_yarn_launcher.monitoring.log_reader import last_lines
from audioloom_yarn_launcher.monitoring.progress import failure, last_step, read_progress
from audioloom_yarn_launcher.monitoring.root_cause import (
    AttemptFacts,
    FailureCause,
    WorkerFacts,
    rank_attempt,
    root_cause,
)
from audioloom_yarn_launcher.monitoring.run_status import RunStatus, read_run_status
from audioloom_yarn_launcher.monitoring.tables import arrivals_of, arrivals_table
from audioloom_yarn_launcher.rendezvous.causes import Cause
from audioloom_yarn_launcher.runs.attempts import Attempt, WorkerRecord
from audioloom_yarn_launcher.runs.layout import log_name
from audioloom_yarn_launcher.runs.record import check_manifest
from audioloom_yarn_launcher.settings import command_line
from audioloom_yarn_launcher.system.waiting import ahead
from audioloom_yarn_launcher.yarn.application_errors import coordinator_outcome, explain
from audioloom_yarn_launcher.yarn.resource_manager import look_up

LAST_BYTES = 1 << 16
_SEEN = ("finished", "stopped", "not-started", "lost")
_RECORDED = {"rank", "host", "end", "exit_code", "signal", "cause", "reason"}
MOST_LINES = 20

log = structlog.get_logger()


@dataclass(frozen=True)
class Explanation:
    """The facts on each attempt, by number, its cause of failure, and the first cause of all."""

    known: Mapping[int, AttemptFacts]
    ranked: Mapping[int, FailureCause | None]
    first: FailureCause | None = None

    @property
    def bad(self) -> list[FailureCause]:
        """The causes of the attempts that failed."""
        return [each for each in self.ranked.values() if each is not None]


def explained(view: RunStatus) -> Explanation:
    """Read the records, the progress and the logs of a run, and rank the causes of its failure."""
    progress = read_progress(view.folder)
    known = {
        each.number: facts_of(
            view.folder, each, progress, lost=each is not view.last or view.state == "lost"
        )
        for each in view.attempts
    }
    found = Explanation(known, {number: rank_attempt(each) for number, each in known.items()})
    done = view.state in ("committed", "finished")
    return found if done else replace(found, first=root_cause(found.bad))


def facts_of(
    folder: Location, attempt: Attempt, progress: Mapping[int, Sequence[Line]], *, lost: bool
) -> AttemptFacts:
    """Gather the facts on an attempt, whose launcher is *lost* if it recorded no end.

    The *progress* of each worker is that in all attempts.
    """
    cause = attempt.ended.cause if attempt.ended else None
    if attempt.ended is None and lost:
        cause = attempt.loss
    at_work = attempt.ended is None and cause is None
    workers = () if at_work else attempt.workers
    unrecorded = cause is not None and cause.kind == "launcher-lost"
    outside, hint = _outside(attempt) if unrecorded else ("", "")
    number = attempt.number

    def facts(worker: WorkerRecord) -> WorkerFacts:
        lines, known = progress.get(worker.rank, ()), worker.model_dump(include=_RECORDED)
        error, missed = failure(lines, number)
        if not error and known.get("end") not in _SEEN:
            error = error_line(last_lines(folder, worker.rank, number, LAST_BYTES))
        return WorkerFacts(**known, error=error, missed=missed, step=last_step(lines, number))

    return AttemptFacts(number, cause, tuple(ahead(facts, workers)), outside, hint)


def _outside(attempt: Attempt) -> tuple[str, str]:
    """Ask YARN why the application ended; return the explanation and a hint."""
    if attempt.ended is not None and attempt.ended.restarts:
        return "", ""  # the application went on, so its end does not explain this attempt
    application = attempt.started.owner.application
    found = look_up(application) if application else None
    if application is None or found is None or not found.ended or found.state == "GONE":
        return "", ""
    told = coordinator_outcome(found.diagnostics)
    if told is not None:
        return told[1], ""
    error = explain(found.diagnostics, application=application)
    return f"{error.summary} ({application} {found.state}: {error.found})", error.hint


def result_of(folder: Location, cause: Cause | None = None, *, attempts: int = 0) -> Result:
    """The result of `run` after the *attempts* of this launch; a failure is also on stderr.

    ManifestError if the committed manifest is damaged or forged.
    """
    manifest = folder / MANIFEST_NAME
    committed = exists(manifest)
    training = check_manifest(manifest) if committed else None
    data: dict[str, JSON] = {
        "location": str(manifest if committed else folder),
        "run": folder.uri,
        "manifest": manifest.uri if committed else None,
        "attempts": attempts,
        "exit_code": cause.exit_code if cause else 0,
        "cause": cause.text if cause else None,
    }
    if cause is None:
        look = [command_line("status", folder)]
        if training is not None:
            look.append(shlex.join(["audioloom-trainer", "inspect", str(folder)]))
            if attempts:
                tell_scores(training)
        return Result(str(manifest if committed else folder), data, next=tuple(look))
    return Result((), data, exit_code=cause.exit_code, problem=_report(folder, cause))


def _report(folder: Location, cause: Cause) -> str:
    """Write the first cause and the last output of its process to stderr; return the cause.

    If the gang was not complete in time, the arrivals of its workers come before them.
    """
    view = read_run_status(folder)
    for line in arrivals_table(arrivals_of(view.last)):
        sys.stderr.write(f"{line}\n")
    first, text, rank, attempt = explained(view).first, cause.text, cause.rank, view.number
    if first is not None:
        text, rank, attempt = first.text, first.rank, first.attempt
    where = folder if rank is None else folder / log_name(folder, rank, attempt)
    lines = cause.tail.splitlines()[-MOST_LINES:] if rank == cause.rank else []
    look = command_line("explain", folder)
    if current_logs().as_json:
        told = {"where": str(where), "output": lines, "try": look}
        log.error(text, exit_code=cause.exit_code, **told)
        return text
    write_line(f"error: {safe_text(text)}")
    write_line(f"  where  {safe_text(where)}")
    if lines:
        write_line("  found  last output:")
    for line in lines:
        write_line(f"         | {safe_text(line)}")
    write_line(f"  try    {safe_text(look)}")
    return text
