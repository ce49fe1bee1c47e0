"""The facts on a run's attempts, from records, progress, logs and YARN, and the first cause."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from audioloom_runs.progress import Line
from audioloom_storage import Location

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
from audioloom_yarn_launcher.monitoring.run_status import RunStatus
from audioloom_yarn_launcher.runs.attempts import Attempt, WorkerRecord
from audioloom_yarn_launcher.system.waiting import ahead
from audioloom_yarn_launcher.yarn.diagnostics import coordinator_outcome, explain
from audioloom_yarn_launcher.yarn.resource_manager import look_up

LAST_BYTES = 1 << 16
_SEEN = ("finished", "stopped", "not-started", "lost")
_RECORDED = {"rank", "host", "end", "exit_code", "signal", "cause", "reason"}


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
