"""What the featurizer does, in order: read this module first.

scan     list a folder into a recordings manifest
plan     cut the inventory into units and say what a run would do
run      do the units that have no receipt, then commit features and ledger
verify   read again all that a manifest claims
inspect  show what a manifest says
runs     list what lies under a root
collect  find, and delete on demand, what no manifest names
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import Any, TypeAlias, cast

import structlog
from audioloom_manifest import (
    FeaturesManifest,
    FeaturesRecipe,
    FeaturesStats,
    FileEntry,
    Opened,
    Plan,
    Receipt,
    RecordingsManifest,
    commit,
    find_committed,
    read_manifest,
    read_receipts,
    root_of,
)
from audioloom_stage import JSON, Result, bind, progress
from audioloom_storage import Location, locate

from audioloom_featurizer.attempts import new_attempt
from audioloom_featurizer.budget import Budget, Refusals, check_budget
from audioloom_featurizer.collect import collect
from audioloom_featurizer.inspection import inspect
from audioloom_featurizer.inventory import inventory_location, read_batches
from audioloom_featurizer.placing import largest_recordings
from audioloom_featurizer.runs import runs
from audioloom_featurizer.scan import scan
from audioloom_featurizer.settings import PlanSettings, RunSettings
from audioloom_featurizer.unit_task import Job, do_unit
from audioloom_featurizer.units import Unit, commit_units, make_units, rows_of
from audioloom_featurizer.verify import verify
from audioloom_featurizer.wishes import extraction_of, facts, plan_of

__all__ = ["collect", "inspect", "plan", "run", "runs", "scan", "verify"]

log = structlog.get_logger()

Task: TypeAlias = Callable[[Unit], Receipt]
Runner: TypeAlias = Callable[[Sequence[Unit], Task], Iterator[Receipt]]


def plan(settings: PlanSettings) -> Result:
    """Say what a run would do, and why. Writes nothing."""
    opened, asked = _asked(settings)
    standing = find_committed(asked)
    units = _units(asked, inventory_location(opened))
    finished = len(units) if standing else len(read_receipts(asked.folder, _ids(units)))
    todo = len(units) - finished
    state = "committed" if standing else "started" if finished else "new"
    stats = opened.manifest.stats
    data: dict[str, JSON] = {
        "name": asked.name,
        "folder": str(asked.folder),
        "state": state,
        "recordings": stats.recordings,
        "bytes": stats.bytes,
        "units": len(units),
        "units_finished": finished,
        "units_to_do": todo,
        "largest_unit_bytes": max(unit.bytes for unit in units),
        "largest_unit_recordings": max(unit.recordings for unit in units),
    }
    width = max(map(len, data))
    return Result([f"{key:<{width}}  {value}" for key, value in data.items()], data)


def run(settings: RunSettings, runner: Runner | None = None) -> Result:
    """Extract the features of every recording, and commit them with the ledger of the refused.

    Args:
        settings: what to do.
        runner: who does the units; Spark on `settings.master` unless told otherwise.
    """
    settings.check_configured()
    opened, asked = _asked(settings)
    budget = Budget(settings.error_budget)
    budget.allowed(opened.manifest.stats.recordings)
    standing = find_committed(asked)
    if standing is not None:
        log.info("already committed", manifest=str(standing.location))
        return _result(standing, already=True)

    inventory = inventory_location(opened)
    units = _units(asked, inventory)
    listed = commit_units(asked.folder, units)
    attempt = new_attempt({**settings.for_the_record(), "error_budget": budget.text})
    job = Job(
        folder=asked.folder,
        inventory=inventory,
        source=locate(opened.manifest.recipe.source),
        feature=_recipe(asked).feature,
        settings=extraction_of(settings),
        attempt=attempt.id,
    )
    runner = runner or partial(
        _in_spark,
        settings=settings,
        root=root_of(asked.folder),
        largest=partial(largest_recordings, job.source, inventory),
        counts=attempt.counts,
    )
    receipts = _do_units(job, units, budget, runner)
    files = [listed, *(file for receipt in receipts for file in receipt.files)]
    committed = commit(asked, attempt, files, _stats(receipts))
    return _result(committed.opened, already=not committed.ours)


def _asked(settings: PlanSettings) -> tuple[Opened[RecordingsManifest], Plan]:
    opened = read_manifest(settings.recordings, "recordings")
    root = opened.root if settings.root is None else locate(settings.root)
    asked = plan_of(settings, opened, root)
    bind(run=asked.name, input=opened.manifest.name)
    return opened, asked


def _units(asked: Plan, inventory: Location) -> list[Unit]:
    recipe = _recipe(asked)
    rows = rows_of(read_batches(inventory))
    bounds = {"most_bytes": recipe.unit_bytes, "most_recordings": recipe.unit_recordings}
    return list(make_units(rows, **bounds))


def _do_units(job: Job, units: list[Unit], budget: Budget, runner: Runner) -> list[Receipt]:
    """The receipts of all units, in the order of the units; only those without one are done."""
    receipts = dict(read_receipts(job.folder, _ids(units)))
    todo = [unit for unit in units if unit.id not in receipts]
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
    return [receipts[unit.id] for unit in units]


def _in_spark(units: Sequence[Unit], task: Task, **where: Any) -> Iterator[Receipt]:
    from audioloom_featurizer.spark_tasks import in_spark  # noqa: PLC0415 - a rerun needs no Spark

    return in_spark(units, task, **where)


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


def _stats(receipts: Iterable[Receipt]) -> FeaturesStats:
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


def _result(opened: Opened[FeaturesManifest], *, already: bool) -> Result:
    where, manifest = str(opened.location), opened.manifest
    if manifest.stats.refused:
        log.warning("refused", recordings=manifest.stats.refused, **manifest.stats.refusals)
    ledger: tuple[FileEntry, ...] = tuple(opened.files("ledger"))
    look = "inspect --ledger" if ledger else "inspect"
    return Result(
        where,
        {
            "location": where,
            "name": manifest.name,
            "identity": manifest.identity,
            "already_committed": already,
            **facts(manifest),
            "refusals": dict(manifest.stats.refusals),
        },
        next=(
            f"audioloom-featurizer {look} {opened.folder}",
            f"audioloom-featurizer verify {opened.folder}",
            f"audioloom-sharder plan {opened.folder}",
        ),
    )


def _recipe(asked: Plan) -> FeaturesRecipe:
    return cast("FeaturesRecipe", asked.recipe)


def _ids(units: Iterable[Unit]) -> list[str]:
    return [unit.id for unit in units]
