"""`run`: turn features into committed shards, step by step.

Ranks come from keyed hashes of the windows, so the place of a record depends on seed and content
alone. Every step consists of units with receipts, so a killed run resumes where it stopped. Only
the last two steps move the payload, through one indexed file per features file.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

import structlog
from audioloom_manifest import (
    Attempt,
    Committed,
    ManifestError,
    Receipt,
    commit,
    digest,
    find_committed,
    publish_receipt,
    read_receipts,
    root_of,
    run_name,
)
from audioloom_runs.attempts import new_attempt
from audioloom_stage import Result, bind, progress
from audioloom_stage.errors import Usage
from audioloom_storage import Location, StorageError

from audioloom_sharder.balance.resampling import Copies
from audioloom_sharder.commands.committed import check_complete, run_result
from audioloom_sharder.commands.manifest_stats import stats_of
from audioloom_sharder.commands.warnings import log_warnings
from audioloom_sharder.io.executor import RunUnits, executor
from audioloom_sharder.recipe import RequestedRun, request_run
from audioloom_sharder.settings import RunSettings
from audioloom_sharder.sharding.layout import Layout, make_layout
from audioloom_sharder.sharding.ranking import ranges_for, sum_counts
from audioloom_sharder.splits.sources import SplitSources
from audioloom_sharder.steps import job as steps
from audioloom_sharder.steps.decide_splits import assign_all, gather_source, with_splits
from audioloom_sharder.steps.encode import make_segment, runs_of
from audioloom_sharder.steps.groups import publish_groups
from audioloom_sharder.steps.job import Job, Step, remove_intermediate, unit_name
from audioloom_sharder.steps.merge import make_shards, shard_units
from audioloom_sharder.steps.rank import (
    RankedRange,
    ScannedFile,
    rank_range,
    scan_source,
    windows_of_source,
)
from audioloom_sharder.steps.resample import resampled
from audioloom_sharder.windows.summary import sum_summaries

log = structlog.get_logger()

_LIBRARIES = ("numpy", "pyarrow", "pyspark", "google-crc32c")

Unit = TypeVar("Unit")


def run(settings: RunSettings) -> Result:
    """Write the shards that *settings* request, unless they are committed already."""
    settings.check_configured()
    request = request_run(settings)
    bind(run=request.plan.name)
    opened = find_committed(request.plan)
    if opened is not None:
        check_complete(opened)
        log.info("already committed", location=str(opened.location))
        return run_result(opened, ours=False)
    _check_reachable(settings, request.split_sources)
    attempt = _attempt(settings, request.split_sources)
    try:
        with executor(settings, root_of(request.plan.folder), attempt.counts) as run_units:
            committed = _write_run(request, attempt, run_units)
    except (ManifestError, StorageError):
        # A parallel run of this command may have committed and removed the intermediate files.
        opened = find_committed(request.plan)
        if opened is None:
            raise
        committed = Committed(opened, ours=False)
    log.info("committed" if committed.ours else "already committed")
    return run_result(committed.opened, ours=committed.ours)


def _write_run(request: RequestedRun, attempt: Attempt, run_units: RunUnits) -> Committed:
    job = _decide_splits(_job(request, attempt), run_units)
    job = _decide_copies(job, run_units)
    scanned = _scan(job, run_units)
    summary = sum_summaries((one.summary for one in scanned), job.rules.policy.splits)
    layout = make_layout(summary, job.rules, request.sizes, where=job.where)
    ranked = _rank(job, scanned, run_units)
    counted = sum_counts([one.counted for one in ranked])
    log_warnings(layout, job.rules, request.sizes, counted, summary)
    groups = _do(
        job, steps.GROUPS, range(1), partial(publish_groups, job, scanned, ranked), run_units
    )
    receipts = _write_shards(job, layout, scanned, ranked, run_units)
    files = [entry for receipt in (*groups, *receipts) for entry in receipt.files]
    stats = stats_of(layout, job.rules, counted, receipts, summary.excluded)
    committed = commit(request.plan, attempt, files, stats)
    remove_intermediate(job.folder)
    return committed


def _decide_splits(job: Job, run_units: RunUnits) -> Job:
    """Decide the split of each group if splits need more than a hash."""
    if not job.rules.policy.needs_lookup:
        return job
    members = _do_files(job, steps.MEMBERS, partial(gather_source, job), run_units)
    decided = _do(job, steps.SPLITS, range(1), partial(assign_all, job, members), run_units)
    return with_splits(job, members, decided[0])


def _decide_copies(job: Job, run_units: RunUnits) -> Job:
    """Decide the copies of each window if labels are resampled."""
    if job.rules.resample == "none":
        return job
    unit = unit_name(job, steps.RESAMPLING, 0)
    receipt = read_receipts(job.work, [unit]).get(unit)
    if receipt is None:
        units, reads = range(len(job.sources)), partial(_location, job)
        rules = resampled(job.rules, units, partial(windows_of_source, job), reads, run_units)
        copies = rules.resampling or {}
        counts = {label: (one.whole, one.threshold) for label, one in copies.items()}
        receipt = Receipt(unit=unit, attempt=job.attempt, files=(), counts=counts)
        receipt = publish_receipt(job.work, receipt)
    decided = {label: Copies.parse(*one) for label, one in receipt.counts.items()}
    return replace(job, rules=replace(job.rules, resampling=decided))


def _scan(job: Job, run_units: RunUnits) -> list[ScannedFile]:
    """Step 1: compute the hashes and the split of every window, one unit per features file."""
    return list(
        map(ScannedFile.of, _do_files(job, steps.SCANS, partial(scan_source, job), run_units))
    )


def _rank(job: Job, scanned: Sequence[ScannedFile], run_units: RunUnits) -> list[RankedRange]:
    """Step 2: rank every window within its split, one unit per range of hashes."""
    task = partial(rank_range, job, scanned)
    return list(map(RankedRange.of, _do(job, steps.RANKS, range(job.ranges), task, run_units)))


def _write_shards(
    job: Job,
    layout: Layout,
    scanned: Sequence[ScannedFile],
    ranked: Sequence[RankedRange],
    run_units: RunUnits,
) -> list[Receipt]:
    """Steps 3 and 4: encode each features file into a segment, then merge segments into shards."""
    units = shard_units(layout)
    done = _receipts(job, steps.SHARDS, len(units))
    runs = []
    if len(done) < len(units):
        encode = partial(_segment, job, layout, scanned, ranked)
        segments = _do_files(job, steps.SEGMENTS, encode, run_units)
        runs = [run for receipt in segments for run in runs_of(receipt)]
    task = partial(make_shards, job, layout, runs)
    return _do_rest(job, steps.SHARDS, units, task, run_units, done)


def _segment(
    job: Job,
    layout: Layout,
    scanned: Sequence[ScannedFile],
    ranked: Sequence[RankedRange],
    number: int,
) -> Receipt:
    return make_segment(job, layout, scanned[number], ranked, number)


def _location(job: Job, number: int) -> Location:
    return job.sources[number].location


def _do_files(
    job: Job, step: Step, task: Callable[[int], Receipt], run_units: RunUnits
) -> list[Receipt]:
    return _do(job, step, range(len(job.sources)), task, run_units, partial(_location, job))


def _do(
    job: Job,
    step: Step,
    units: Sequence[Unit],
    task: Callable[[Unit], Receipt],
    run_units: RunUnits,
    reads: Callable[[Unit], Location] | None = None,
) -> list[Receipt]:
    """Run the units of a step that have no receipt; return all receipts, in order."""
    done = _receipts(job, step, len(units))
    return _do_rest(job, step, units, task, run_units, done, reads)


def _receipts(job: Job, step: Step, units: int) -> Mapping[str, Receipt]:
    folder = job.folder if step.kept else job.work
    return read_receipts(folder, [unit_name(job, step, number) for number in range(units)])


def _do_rest(
    job: Job,
    step: Step,
    units: Sequence[Unit],
    task: Callable[[Unit], Receipt],
    run_units: RunUnits,
    done: Mapping[str, Receipt],
    reads: Callable[[Unit], Location] | None = None,
) -> list[Receipt]:
    names = [unit_name(job, step, number) for number in range(len(units))]
    todo = [unit for unit, name in zip(units, names, strict=True) if name not in done]
    receipts = dict(done)
    with progress(len(todo), step.activity, step.units) as bar:
        for receipt in bar.over(run_units(todo, task, reads)):
            receipts[receipt.unit] = receipt
    return [receipts[name] for name in names]


def _check_reachable(settings: RunSettings, sources: SplitSources) -> None:
    table, previous_run = sources.table, sources.previous_run
    places = [] if table is None else [("--split-table", table.location)]
    places += [] if previous_run is None else [("--keep-splits", previous_run.folder)]
    for flag, place in places:
        if settings.master == "yarn" and place.scheme == "file":
            raise Usage(
                expected="a location that every container can read, such as hdfs://…",
                found=place,
                where=flag,
                hint="Copy it there: hdfs dfs -put.",
            )


def _attempt(settings: RunSettings, sources: SplitSources) -> Attempt:
    # The recipe holds only the table's checksum; `verify` needs the location to find the table.
    table = {} if sources.table is None else {"split_table": str(sources.table.location)}
    recorded = {**settings.for_the_record(), **table}
    return new_attempt("sharder", recorded, libraries=_LIBRARIES)


def _job(request: RequestedRun, attempt: Attempt) -> Job:
    inputs, plan = request.inputs, request.plan
    name = run_name("shards", plan.recipe, plan.input_identities)
    return Job(
        folder=plan.folder,
        basis=digest([name, attempt.producer.version]),
        attempt=attempt.id,
        rules=request.rules,
        where=inputs.where,
        sources=inputs.sources,
        ranges=ranges_for(inputs.windows),
        codec=request.codec,
        split_sources=request.split_sources,
    )
