"""The application of a run that has not begun: whether it waits, and for what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import structlog
from audioloom_storage import Location

from audioloom_yarn_launcher.runs.attempts import Attempt
from audioloom_yarn_launcher.runs.submissions import Submission, read_submissions
from audioloom_yarn_launcher.yarn.diagnostics import explain, ours, why_it_waits
from audioloom_yarn_launcher.yarn.resource_manager import Application, look_up

log = structlog.get_logger()


@dataclass(frozen=True)
class Pending:
    """An application of which no attempt has begun.

    Args:
        submission: what is on record of it.
        application: what the ResourceManager says, None if nobody tells.
    """

    submission: Submission
    application: Application | None

    @property
    def waits(self) -> bool | None:
        """Whether it may begin yet; None if that cannot be told."""
        return None if self.application is None else not self.application.ended

    @property
    def because(self) -> str:
        """Why it has not begun, in a sentence."""
        found = self.application
        if found is None:
            return "the ResourceManager does not tell how it is"
        if found.state == "GONE":
            return "the ResourceManager knows nothing of it any more"
        if not found.ended:
            return why_it_waits(found.state, found.diagnostics)
        told = ours(found.diagnostics)
        if told is not None:
            return told[1]
        error = explain(found.diagnostics, application=self.submission.application)
        return f"{error.summary}: {error.found}"


def find_pending(folder: Location, attempts: Sequence[Attempt]) -> Pending | None:
    """The newest application that waits, else the newest of which that cannot be told, else of all.

    Args:
        folder: of the run.
        attempts: at it; what was submitted before the last one began is history.
    """
    last = attempts[-1].started.attempt if attempts else 0
    submitted = read_submissions(folder, {each.started.launch for each in attempts})
    found: list[Pending] = []
    for each in submitted:
        if each.after_attempt < last:
            break
        found.append(Pending(each, look_up(each.application)))
        if found[-1].waits:
            return found[-1]
    return next((each for each in found if each.waits is None), found[0] if found else None)


def tell_pending(pending: Pending) -> None:
    """Say on stderr that a run has not begun, and why."""
    found = pending.application
    log.info(
        "the run has not begun: its application waits",
        application=pending.submission.application,
        state=found.state if found else "unknown",
        because=pending.because,
    )
