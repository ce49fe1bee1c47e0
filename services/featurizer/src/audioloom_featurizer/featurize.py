"""What the featurizer does, in order: read this module first.

scan     list a folder into a recordings manifest
plan     cut the inventory into units and say what a run would do
run      do the units that have no receipt, then commit features and ledger
retry    the same for what a committed run refused, where another try may help
verify   read again all that a manifest claims
inspect  show what a manifest says
runs     list what lies under a root
trace    find what holds certain recordings, or was made from them
collect  find, and delete on demand, what no manifest names
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

import structlog
from audioloom_manifest import (
    FeaturesManifest,
    FeaturesRecipe,
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
    run_name,
)
from audioloom_stage import JSON, Result, bind
from audioloom_storage import Location, locate

from audioloom_featurizer.attempts import new_attempt
from audioloom_featurizer.budget import Budget, parse_budget
from audioloom_featurizer.collect import collect
from audioloom_featurizer.doing import Runner, Task, do_units, stats_of
from audioloom_featurizer.inspection import inspect
from audioloom_featurizer.inventory import inventory_location, read_batches
from audioloom_featurizer.placing import largest_recordings
from audioloom_featurizer.retry import commit_retryable
from audioloom_featurizer.runs import runs
from audioloom_featurizer.scan import scan
from audioloom_featurizer.settings import (
    DEFAULT_BUDGET,
    RETRY_BUDGET,
    PlanSettings,
    RetrySettings,
    RunSettings,
)
from audioloom_featurizer.supervise import Limits
from audioloom_featurizer.tracing import trace
from audioloom_featurizer.unit_task import Job
from audioloom_featurizer.units import Unit, commit_units, make_units, receipt_name, rows_of
from audioloom_featurizer.verify import verify
from audioloom_featurizer.wishes import facts, plan_of, plan_with, settings_of

__all__ = ["collect", "inspect", "plan", "retry", "run", "runs", "scan", "trace", "verify"]

log = structlog.get_logger()


def plan(settings: PlanSettings) -> Result:
    """Say what a run would do, and why. Writes nothing."""
    opened, asked = _asked(settings)
    standing = find_committed(asked)
    units = _units(asked, inventory_location(opened))
    finished = (
        len(units) if standing else len(read_receipts(asked.folder, _receipt_names(asked, units)))
    )
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
    budget = parse_budget(settings.error_budget, default=DEFAULT_BUDGET)
    opened, asked = _asked(settings)
    return _extract(opened, asked, budget, settings, runner)


def retry(settings: RetrySettings, runner: Runner | None = None) -> Result:
    """Try the recordings again that a committed run refused for want of a service.

    Features and ledger of what comes of them are a run of their own, with the same recipe.
    """
    settings.check_configured()
    budget = parse_budget(settings.error_budget, default=RETRY_BUDGET)
    features = read_manifest(settings.features, "features")
    opened = commit_retryable(features, settings.also, features.root)
    recipe = features.manifest.recipe
    asked = plan_with(recipe, opened, features.root, settings.name)
    bind(run=asked.name, input=opened.manifest.name)
    done = _extract(opened, asked, budget, settings, runner)
    together = f"audioloom-sharder plan {features.folder} {asked.folder}"
    return replace(done, next=(*done.next[:-1], together))


def _extract(
    opened: Opened[RecordingsManifest],
    asked: Plan,
    budget: Budget,
    settings: RunSettings | RetrySettings,
    runner: Runner | None,
) -> Result:
    standing = find_committed(asked)
    if standing is not None:
        log.info("already committed", manifest=str(standing.location))
        return _result(standing, already=True)

    inventory = inventory_location(opened)
    units = _units(asked, inventory)
    listed = commit_units(asked.folder, units)
    attempt = new_attempt(settings.for_the_record())
    job = Job(
        folder=asked.folder,
        inventory=inventory,
        source=locate(opened.manifest.recipe.source),
        feature=_recipe(asked).feature,
        settings=settings_of(_recipe(asked)),
        attempt=attempt.id,
        basis=_basis(asked),
    )
    runner = runner or partial(
        _in_spark,
        limits=Limits(int(settings.decoder_memory), settings.decoder_seconds),
        settings=settings,
        root=root_of(asked.folder),
        largest=partial(largest_recordings, job.source, inventory),
        counts=attempt.counts,
    )
    receipts = do_units(job, units, budget, runner)
    files = [listed, *(file for receipt in receipts for file in receipt.files)]
    committed = commit(asked, attempt, files, stats_of(receipts))
    log.info("committed" if committed.ours else "already committed")
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


def _in_spark(units: Sequence[Unit], task: Task, **where: Any) -> Iterator[Receipt]:
    from audioloom_featurizer.spark_tasks import in_spark  # noqa: PLC0415 - a rerun needs no Spark

    return in_spark(units, task, **where)


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


def _receipt_names(asked: Plan, units: Iterable[Unit]) -> list[str]:
    return [receipt_name(unit, _basis(asked)) for unit in units]


def _basis(asked: Plan) -> str:
    return run_name(asked.kind, asked.recipe, asked.input_identities)
