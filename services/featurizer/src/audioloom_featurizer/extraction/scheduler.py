"""Do the units of a run that have no receipt yet, and stop when too much is refused."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import TypeAlias

import structlog
from audioloom_manifest import FeaturesStats, Receipt, read_receipts
from audioloom_stage import progress

from audioloom_featurizer.extraction.error_budget import Budget, Refusals, check_budget
from audioloom_featurizer.extraction.partition import Unit, receipt_name
from audioloom_featurizer.extraction.unit import Job, do_unit

Task: TypeAlias = Callable[[Unit], Receipt]
Runner: TypeAlias = Callable[[Sequence[Unit], Task], Iterator[Receipt]]

log = structlog.get_logger()


def do_units(job: Job, units: list[Unit], budget: Budget, runner: Runner) -> list[Receipt]:
    """The receipts of all units, in the order of the units; only those without one are done.

    Raises:
        TooManyRefused, NothingReadable: as soon as it is certain. Finished units are kept.
    """
    names = {unit: receipt_name(unit, job.basis) for unit in units}
    receipts = dict(read_receipts(job.folder, names.values()))
    todo = [unit for unit in units if names[unit] not in receipts]
    recordings = sum(unit.recordings for unit in units)
    if receipts:
        log.info("going on", units_finished=len(receipts), units_to_do=len(todo))
    with progress(recordings, "extracting", "recordings") as bar:
        tally = _Tally(job, budget, recordings)
        for receipt in receipts.values():
            bar.advance(tally.add(receipt))
        tally.check()
        if todo:
            with closing(runner(todo, partial(do_unit, job))) as answers:  # type: ignore[type-var]
                for receipt in answers:
                    receipts[receipt.unit] = receipt
                    bar.advance(tally.add(receipt))
                    tally.check()
    return [receipts[names[unit]] for unit in units]


class _Tally:
    """Refusals so far, held against the budget."""

    def __init__(self, job: Job, budget: Budget, recordings: int) -> None:
        self._where = job.source
        self._budget = budget
        self._recordings = recordings
        self._done = 0
        self._counts: Counter[str] = Counter()
        self._examples: dict[str, Sequence[str]] = {}

    def add(self, receipt: Receipt) -> int:
        """Count a unit, and answer how many recordings it held."""
        counts = receipt.counts
        self._counts.update(counts["refusals"])
        self._examples = {**counts["examples"], **self._examples}
        held = int(counts["extracted"] + counts["refused"])
        self._done += held
        return held

    def check(self) -> None:
        check_budget(
            Refusals(self._counts, self._examples),
            budget=self._budget,
            recordings=self._recordings,
            done=self._done,
            where=self._where,
        )


def stats_of(receipts: Iterable[Receipt]) -> FeaturesStats:
    """What all units together hold."""
    all_counts = [receipt.counts for receipt in receipts]
    labels: Counter[str] = Counter()
    refusals: Counter[str] = Counter()
    for counts in all_counts:
        labels.update(counts["labels"])
        refusals.update(counts["refusals"])
    whole = {
        key: sum(counts[key] for counts in all_counts)
        for key in ("extracted", "refused", "flagged", "windows")
    }
    return FeaturesStats(
        **whole,
        recordings=whole["extracted"] + whole["refused"],
        audio_seconds=round(math.fsum(counts["audio_seconds"] for counts in all_counts), 6),
        refusals=dict(sorted(refusals.items())),
        labels=dict(sorted(labels.items())),
    )
