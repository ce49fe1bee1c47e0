"""Gather the facts on an attempt from records, progress files, logs and YARN's diagnostics."""

from audioloom_storage import Location

from audioloom_yarn_launcher.monitoring.error_lines import error_line
from audioloom_yarn_launcher.monitoring.log_reader import last_lines
from audioloom_yarn_launcher.monitoring.progress import failure, last_step, progress_lines
from audioloom_yarn_launcher.monitoring.root_cause import AttemptFacts, WorkerFacts
from audioloom_yarn_launcher.rendezvous.causes import TRY_AGAIN, Cause
from audioloom_yarn_launcher.runs.attempts import Attempt, WorkerEnd, WorkerRecord
from audioloom_yarn_launcher.yarn.diagnostics import coordinator_outcome, explain
from audioloom_yarn_launcher.yarn.resource_manager import look_up

LAST_BYTES = 1 << 16
_SEEN = ("finished", "stopped", "not-started", "lost")


def facts_of(folder: Location, attempt: Attempt, *, lost: bool) -> AttemptFacts:
    """Gather the facts on an attempt, whose launcher is *lost* if it recorded no end."""
    cause = attempt.ended.cause if attempt.ended else None
    if attempt.ended is None and lost:
        cause = loss_of_launcher(attempt)
    at_work = attempt.ended is None and cause is None
    workers = () if at_work else attempt.workers
    unrecorded = cause is not None and cause.kind == "launcher-lost"
    outside, hint = _outside(attempt) if unrecorded else ("", "")
    facts = tuple(_worker_facts(folder, attempt, each) for each in workers)
    return AttemptFacts(attempt.started.attempt, cause, facts, outside, hint)


def loss_of_launcher(attempt: Attempt) -> Cause:
    """The cause of an attempt that ended with its launcher, before it could be recorded."""
    text = f"the launcher was lost: {attempt.started.owner} is gone"
    return Cause("launcher-lost", text, TRY_AGAIN)


def _worker_facts(folder: Location, attempt: Attempt, seat: WorkerRecord) -> WorkerFacts:
    number, end = attempt.started.attempt, seat if isinstance(seat, WorkerEnd) else None
    lines = progress_lines(folder, seat.rank)
    error, missed = failure(lines, number)
    if not error and (end is None or end.end not in _SEEN):
        error = error_line(last_lines(folder, number, seat.rank, LAST_BYTES))
    return WorkerFacts(
        rank=seat.rank,
        host=seat.host,
        end=end.end if end else "",
        exit_code=end.exit_code if end else None,
        signal=end.signal if end else None,
        told=end.cause if end else "",
        reason=end.reason if end else "",
        error=error,
        missed=missed,
        step=last_step(lines, number),
    )


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
