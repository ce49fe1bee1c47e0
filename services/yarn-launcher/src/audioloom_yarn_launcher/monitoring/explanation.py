"""The explanation of a run's end: the facts and the cause of each attempt, and the first cause."""

from collections.abc import Mapping
from dataclasses import dataclass

from audioloom_yarn_launcher.monitoring.failure_facts import facts_of
from audioloom_yarn_launcher.monitoring.progress import read_progress
from audioloom_yarn_launcher.monitoring.root_cause import (
    AttemptFacts,
    FailureCause,
    rank_attempt,
    root_cause,
)
from audioloom_yarn_launcher.monitoring.run_status import RunStatus


@dataclass(frozen=True)
class Explanation:
    """What is known of each attempt, by number, and its cause of failure.

    Attributes:
        first: the first cause over all attempts; None if the run did its work.
    """

    known: Mapping[int, AttemptFacts]
    ranked: Mapping[int, FailureCause | None]
    first: FailureCause | None

    @property
    def bad(self) -> list[FailureCause]:
        """The causes of the attempts that failed."""
        return [each for each in self.ranked.values() if each is not None]


def explained(view: RunStatus) -> Explanation:
    """Read the records, the progress and the logs of a run, and rank the causes of its failure."""
    progress = read_progress(view.folder)
    known = {
        each.started.attempt: facts_of(
            view.folder, each, progress, lost=each is not view.last or view.state == "lost"
        )
        for each in view.attempts
    }
    ranked = {number: rank_attempt(each) for number, each in known.items()}
    bad = [each for each in ranked.values() if each is not None]
    done = view.state in ("committed", "finished")
    return Explanation(known, ranked, None if done else root_cause(bad))
