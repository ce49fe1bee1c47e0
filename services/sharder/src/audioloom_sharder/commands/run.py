"""`run`: turn features into committed shards, step by step; `why`: say why it would do so again.

Ranks come from keyed hashes of the windows, so the place of a record depends on seed and content
alone. Every step consists of units with receipts, so a killed run resumes where it stopped. Only
the last two steps move the payload, through one indexed file per features file.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

import structlog
from audioloom_manifest.canonical import digest
from audioloom_manifest.errors import ManifestError
from audioloom_manifest.kinds import LabelCopies
from audioloom_manifest.layout import root_of
from audioloom_manifest.publication import Attempt, Committed, commit, find_committed
from audioloom_manifest.receipts import Receipt, publish_receipt, read_receipts
from audioloom_runs.attempts import new_attempt
from audioloom_runs.cost import note_actual
from audioloom_runs.tables import duration_text
from audioloom_runs.why import Options, why
from audioloom_stage.errors import Usage
from audioloom_stage.logs import bind
from audioloom_stage.progress_bar import progress
from audioloom_stage.result import Result
from audioloom_storage import Location, StorageError

from audioloom_sharder.capacity import cost_of
from audioloom_sharder.commands.committed_run import check_complete, run_result, stats_of
from audioloom_sharder.commands.warnings import warnings_of
from audioloom_sharder.io.executor import RunUnits, executor
from audioloom_sharder.recipe import RequestedRun, request_run
from audioloom_sharder.settings import RunSettings
from audioloom_sharder.sharding.layout import Layout, make_layout
from audioloom_sharder.sharding.ranking import DistinctCounts, ranges_for, sum_counts
from audioloom_sharder.splits.assign import SplitSource
from audioloom_sharder.splits.table import SplitTable
from audioloom_sharder.steps import encode, merge, rank
from audioloom_sharder.steps import job as steps
from audioloom_sharder.steps.decide_splits import (
    SourceUnit,
    assign_all,
    gather_source,
    source_units,
    with_splits,
)
from audioloom_sharder.steps.job import Job, StoredArray, publish_table, unit_name
from audioloom_sharder.steps.resample import resampled
from audioloom_sharder.steps.work_folder import work_folder
from audioloom_sharder.windows.metadata_scan import SUMMARY, sum_summaries

log = structlog.get_logger()

INTERMEDIATE = 6
"""Raised when intermediate files change, so that a run that was begun before does not go on."""

_LIBRARIES = ("numpy", "pyarrow", "pyspark", "google-crc32c")
_NAMES = {
    "algorithm": "the revision of the algorithm",
    "class_weights": "--class-weights",
    "split_table_sha256": "the table of --split-table",
    "splits": "--split",
}
"""Of fields of the recipe whose option has another name."""

Unit = TypeVar("Unit")


def run(settings: RunSettings) -> Result:
    """Write the shards that *settings* request, unless they are committed already."""
    settings.check_configured()
    began = time.monotonic()
    request = request_run(settings)
    bind(run=request.plan.name)
    opened = find_committed(request.plan)
    if opened is not None:
        check_complete(opened)
        log.info("already committed", location=str(opened.location))
        return run_result(opened, ours=False)
    _check_reachable(settings, request.split_source)
    recorded = settings.for_the_record()
    if isinstance(request.split_source, SplitTable):
        # The recipe holds only the table's checksum; `verify` needs the location to find it.
        recorded["split_table"] = str(request.split_source.location)
    attempt = new_attempt("sharder", recorded, libraries=_LIBRARIES)
    attempt.cost.update(cost_of(request, settings.master, settings.slots))
    # Resampling repeats records, and how often is known after the first steps.
    values = request.inputs.bytes if request.rules.recipe.resample == "none" else None
    try:
        with (
            work_folder(request.plan.folder, values, settings.master) as work,
            executor(settings, root_of(request.plan.folder), attempt.counts) as run_units,
        ):
            job = job_of(request, attempt, work)
            committed = _write_run(request, job, attempt, run_units, began, settings.slots)
    except (ManifestError, StorageError):
        # A parallel run of this command may have committed and removed the intermediate files.
        opened = find_committed(request.plan)
        if opened is None:
            raise
        committed = Committed(opened, ours=False)
    splits = committed.opened.manifest.stats.splits
    told = ", ".join(f"{name} {split.records:,}" for name, split in splits.items())
    done = "committed" if committed.ours else "already committed"
    log.info(
        done,
        readable=f"{done} {sum(split.records for split in splits.values()):,} records ({told})"
        f" after {duration_text(time.monotonic() - began)}",
    )
    return run_result(committed.opened, ours=committed.ours)


def explain(settings: RunSettings) -> Result:
    """Compare the shards run that the settings ask for with the nearest finished one."""
    settings.check_configured()
    attempt = new_attempt("sharder", {}, libraries=_LIBRARIES)
    return why(request_run(settings).plan, attempt, Options(settings, _NAMES))


def _write_run(
    request: RequestedRun,
    job: Job,
    attempt: Attempt,
    run_units: RunUnits,
    began: float,
    cores: int,
) -> Committed:
    plan = request.plan
    job, units = _decide_splits(job, source_units(request.inputs), run_units)
    job = _decide_copies(job, units, run_units)
    # Compute the hashes and the split of every window, one unit per features file.
    scanned = _do(job, steps.SCANS, units, partial(rank.scan_source, job), run_units)
    summaries = (SUMMARY.validate_python(one.counts["summary"]) for one in scanned)
    summary = sum_summaries(summaries, job.rules.splits)
    layout = make_layout(summary, job.rules, job.where)
    # Rank every window within its split, one unit per range of hashes.
    ranked = _rank(job, units, scanned, run_units)
    counted = sum_counts([DistinctCounts(**one.counts["counted"]) for one in ranked])
    for warning in warnings_of(layout, job.rules, counted, summary):
        log.warning(warning)
    ranks = publish_table(job, steps.RANKS, ranked)
    publish = partial(rank.publish_groups, job, ranks, sum(counted.groups))
    listed = _do(job, steps.GROUPS, range(1), publish, run_units)
    sources = [
        encode.SegmentUnit(**vars(unit), records=steps.stored(job, steps.SCANS, scan, 1))
        for unit, scan in zip(units, scanned, strict=True)
    ]
    receipts = _write_shards(job, layout, sources, ranks, run_units)
    files = [entry for receipt in (*listed, *receipts) for entry in receipt.files]
    stats = stats_of(layout, job.rules, counted, receipts, summary.excluded)
    makers = {one.attempt for one in (*scanned, *ranked, *listed, *receipts)}
    taken = time.monotonic() - began
    note_actual(attempt, plan.folder, files, taken, cores=cores, makers=makers)
    committed = commit(plan, attempt, files, stats)
    steps.remove_intermediate(job.folder)
    return committed


def job_of(request: RequestedRun, attempt: Attempt, work: Location) -> Job:
    """Return the facts that all units of a run share."""
    plan, inputs = request.plan, request.inputs
    return Job(
        folder=plan.folder,
        work=work,
        basis=digest([plan.basis, attempt.producer.version, INTERMEDIATE]),
        attempt=attempt.id,
        rules=request.rules,
        where=inputs.where,
        ranges=ranges_for(inputs.windows),
        split_source=request.split_source,
    )


def _decide_splits(
    job: Job, units: list[SourceUnit], run_units: RunUnits
) -> tuple[Job, list[SourceUnit]]:
    """Decide the split of each group if splits need more than a hash."""
    if not job.rules.needs_lookup:
        return job, units
    members = _do(job, steps.MEMBERS, units, partial(gather_source, job), run_units)
    decided = _do(job, steps.SPLITS, range(1), partial(assign_all, job, len(units)), run_units)
    return with_splits(job, units, members, decided[0])


def _decide_copies(job: Job, units: Sequence[SourceUnit], run_units: RunUnits) -> Job:
    """Decide the copies of each window if labels are resampled."""
    if job.rules.recipe.resample == "none":
        return job
    unit = unit_name(job, steps.RESAMPLING, 0)
    folder = job.folder_of(steps.RESAMPLING)
    receipt = read_receipts(folder, [unit]).get(unit)
    if receipt is None:
        copies = resampled(job.rules, units, run_units).resampling or {}
        counts = {label: one.model_dump() for label, one in copies.items()}
        receipt = Receipt(unit=unit, attempt=job.attempt, files=(), counts=counts)
        receipt = publish_receipt(folder, receipt)
    decided = {label: LabelCopies(**one) for label, one in receipt.counts.items()}
    return replace(job, rules=replace(job.rules, resampling=decided))


def _rank(
    job: Job, units: Sequence[SourceUnit], scanned: Sequence[Receipt], run_units: RunUnits
) -> list[Receipt]:
    task, table = partial(rank.rank_range, job), partial(publish_table, job, steps.SCANS, scanned)
    try:
        return _do(job, steps.RANKS, range(job.ranges), task, run_units, table)
    except rank.DuplicateWindowError as error:
        rank.raise_duplicate(error, units, job.rules)
    except rank.TornGroupError as error:
        rank.raise_torn(error, units, job.rules)


def _write_shards(
    job: Job,
    layout: Layout,
    sources: Sequence[encode.SegmentUnit],
    ranks: StoredArray,
    run_units: RunUnits,
) -> list[Receipt]:
    """Encode each features file into a segment, then merge segments into shards."""

    def segments() -> StoredArray:
        task = partial(encode.make_segment, job, layout, ranks)
        made = _do(job, steps.SEGMENTS, sources, task, run_units)
        return publish_table(job, steps.SEGMENTS, [one for one in made if one.counts["offsets"][1]])

    task = partial(merge.make_shards, job, layout)
    return _do(job, steps.SHARDS, merge.shard_units(layout), task, run_units, segments)


def _do(
    job: Job,
    step: steps.Step,
    units: Sequence[Unit],
    task: Callable[..., Receipt],
    run_units: RunUnits,
    table: Callable[[], StoredArray] | None = None,
) -> list[Receipt]:
    """Run the units of a step that have no receipt; return all receipts, in order.

    The *table* that the task needs besides the unit is made if there are such units.
    """
    names = [unit_name(job, step, number) for number in range(len(units))]
    receipts = dict(read_receipts(job.folder_of(step), names))
    todo = [unit for unit, name in zip(units, names, strict=True) if name not in receipts]
    if todo and table is not None:
        task = partial(task, table())
    with progress(len(todo), step.activity, step.units) as bar:
        for receipt in bar.over(run_units(todo, task)):
            receipts[receipt.unit] = receipt
    return [receipts[name] for name in names]


def _check_reachable(settings: RunSettings, source: SplitSource) -> None:
    if source is not None and settings.master == "yarn" and source.location.scheme == "file":
        raise Usage(
            expected="a location that every container can read, such as hdfs://…",
            found=source.location,
            where="--split-table" if isinstance(source, SplitTable) else "--keep-splits",
            hint="Copy it there: hdfs dfs -put.",
        )
