"""A pending application: it was submitted, and no attempt of its run has begun."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import structlog
from audioloom_stage.errors import TryAgain
from audioloom_storage import Location

from audioloom_yarn_launcher.runs.attempts import Attempt, read_attempts
from audioloom_yarn_launcher.runs.lease import wait_for_turn
from audioloom_yarn_launcher.runs.run_spec import RunSpec
from audioloom_yarn_launcher.runs.submissions import Submission, read_submissions
from audioloom_yarn_launcher.yarn.diagnostics import coordinator_outcome, explain, why_it_waits
from audioloom_yarn_launcher.yarn.resource_manager import Application, look_up

LOOK_AGAIN_S = 1.0

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
            return why_it_waits(found.state, found.diagnostics)
        told = coordinator_outcome(found.diagnostics)
        if told is not None:
            return told[1]
        error = explain(found.diagnostics, application=self.submission.application)
        return f"{error.summary}: {error.found}"


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
                hint=f"audioloom-yarn-launcher status {folder}",
            )
        if not reported:
            report_pending(pending)
            reported = True
        time.sleep(LOOK_AGAIN_S)
    return None
