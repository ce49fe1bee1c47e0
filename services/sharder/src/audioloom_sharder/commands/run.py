"""`run`: features in, committed shards out. This file is the table of contents of the stage.

Ranks come from keyed hashes of the windows, so where a record goes depends on seed and content
alone. Four steps of work units, each unit with a receipt, so that a killed run goes on where it
stopped; the payload moves in the last two, through one indexed file for each features file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import structlog
from audioloom_manifest import (
    Attempt,
    Committed,
    ManifestError,
    Plan,
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
from audioloom_sharder.commands.committed import check_standing, describe
from audioloom_sharder.commands.manifest_stats import stats_of
from audioloom_sharder.commands.warnings import tell
from audioloom_sharder.inputs.manifests import Inputs, open_inputs
from audioloom_sharder.io.executor import RunUnits, engine
from audioloom_sharder.recipe import (
    ask,
    open_given,
    packing_of,
    recipe_of,
    rules_of,
    sizes_of,
)
from audioloom_sharder.settings import RunSettings
from audioloom_sharder.sharding.layout import Layout, Sizes, lay_out
from audioloom_sharder.sharding.ranking import add, ranges_for
from audioloom_sharder.splits.previous_run import Given
from audioloom_sharder.steps.decide_splits import gather_source, settle_all, settled
from audioloom_sharder.steps.encode import make_segment, runs_of
from audioloom_sharder.steps.groups import publish_groups
from audioloom_sharder.steps.job import Job, tidy, unit_name
from audioloom_sharder.steps.merge import make_shards, shard_units
from audioloom_sharder.steps.rank import Keyed, Ranked, look_at, rank_range, scan_source
from audioloom_sharder.steps.resample import resampled
from audioloom_sharder.windows.metadata_scan import summed

log = structlog.get_logger()

_LIBRARIES = ("numpy", "pyarrow", "pyspark", "google-crc32c")


def shard(settings: RunSettings) -> Result:
    """Write the shards that *settings* ask for, or find them written."""
    settings.check_configured()
    inputs = open_inputs(settings.features)
    given = open_given(settings, inputs)
    asked = ask(settings, inputs, given)
    bind(run=asked.name)
    standing = find_committed(asked)
    if standing is not None:
        check_standing(standing)
        log.info("already committed", location=str(standing.location))
        return describe(standing, ours=False)
    _check_reach(settings, given)
    attempt = _attempt(settings, given)
    job = _job(settings, inputs, given, asked, attempt)
    try:
        with engine(settings, root_of(asked.folder), attempt.counts) as run_units:
            committed = _work(job, sizes_of(settings), asked, attempt, run_units)
    except (ManifestError, StorageError):
        # The same command beside us may have committed, and taken the files between the steps away.
        standing = find_committed(asked)
        if standing is None:
            raise
        committed = Committed(standing, ours=False)
    log.info("committed" if committed.ours else "already committed")
    return describe(committed.opened, ours=committed.ours)


def _work(job: Job, sizes: Sizes, asked: Plan, attempt: Attempt, run_units: RunUnits) -> Committed:
    job = _settle(job, run_units)
    job = _resampled(job, run_units)
    keyed = _scan(job, run_units)
    summary = summed((one.summary for one in keyed), job.rules.policy.splits)
    layout = lay_out(summary, job.rules, sizes, where=job.where)
    ranked = _rank(job, keyed, run_units)
    counted = add([one.counted for one in ranked])
    tell(layout, job.rules, sizes, counted, summary)
    groups = _publish(job, keyed, ranked, run_units)
    receipts = _write(job, layout, keyed, ranked, run_units)
    files = [entry for receipt in (*groups, *receipts) for entry in receipt.files]
    committed = commit(
        asked, attempt, files, stats_of(layout, job.rules, counted, receipts, summary.left_out)
    )
    tidy(job.folder)
    return committed


def _settle(job: Job, run_units: RunUnits) -> Job:
    """Before them all, where more than a hash decides the splits: which group goes where."""
    if not job.rules.policy.looked_up:
        return job
    units, reads = range(len(job.sources)), partial(_source, job)
    gathered = _do(job, "members", units, partial(gather_source, job), run_units, reads)
    places = _do(job, "places", range(1), partial(settle_all, job, gathered), run_units)
    return settled(job, gathered, places[0])


def _resampled(job: Job, run_units: RunUnits) -> Job:
    """Before step 1: how often windows are taken, when labels are to be equally frequent."""
    if job.rules.resample == "none":
        return job
    unit = unit_name(job, "resampling", 0)
    receipt = read_receipts(job.work, [unit]).get(unit)
    if receipt is None:
        units = range(len(job.sources))
        rules = resampled(job.rules, units, partial(look_at, job), partial(_source, job), run_units)
        # A JSON number of 128 bits is not read alike everywhere, so the threshold goes as text.
        counts = {
            label: (one.whole, f"{one.one_more_below:x}")
            for label, one in (rules.resampling or {}).items()
        }
        receipt = Receipt(unit=unit, attempt=job.attempt, files=(), counts=counts)
        receipt = publish_receipt(job.work, receipt)
    copies = {
        label: Copies(whole, int(below, 16)) for label, (whole, below) in receipt.counts.items()
    }
    return replace(job, rules=replace(job.rules, resampling=copies))


def _scan(job: Job, run_units: RunUnits) -> list[Keyed]:
    """Step 1: the hashes and the split of every window, one unit a features file."""
    units = range(len(job.sources))
    task, reads = partial(scan_source, job), partial(_source, job)
    return list(map(Keyed.of, _do(job, "keys", units, task, run_units, reads)))


def _rank(job: Job, keyed: Sequence[Keyed], run_units: RunUnits) -> list[Ranked]:
    """Step 2: the rank of every window within its split, one unit a range of hashes."""
    task = partial(rank_range, job, keyed)
    return list(map(Ranked.of, _do(job, "ranks", range(job.ranges), task, run_units)))


def _publish(
    job: Job, keyed: Sequence[Keyed], ranked: Sequence[Ranked], run_units: RunUnits
) -> list[Receipt]:
    """Beside the shards: where each group lies, in one file."""
    task = partial(publish_groups, job, keyed, ranked)
    return _do(job, "groups", range(1), task, run_units)


def _write(
    job: Job,
    layout: Layout,
    keyed: Sequence[Keyed],
    ranked: Sequence[Ranked],
    run_units: RunUnits,
) -> list[Receipt]:
    """Steps 3 and 4: records into one segment file a features file, segments into shards."""
    units = shard_units(layout)
    names = [unit_name(job, "shards", unit.number) for unit in units]
    done = read_receipts(job.folder, names)
    todo = [unit for unit, name in zip(units, names, strict=True) if name not in done]
    found = dict(done)
    if todo:
        first = partial(_segment, job, layout, keyed, ranked)
        sources = range(len(job.sources))
        segments = _do(job, "segments", sources, first, run_units, partial(_source, job))
        runs = [run for receipt in segments for run in runs_of(receipt)]
        second = partial(make_shards, job, layout, runs)
        with progress(len(todo), "writing shards", "units") as bar:
            for receipt in bar.over(run_units(todo, second)):
                found[receipt.unit] = receipt
    return [found[name] for name in names]


def _segment(
    job: Job, layout: Layout, keyed: Sequence[Keyed], ranked: Sequence[Ranked], number: int
) -> Receipt:
    return make_segment(job, layout, keyed[number], ranked, number)


def _source(job: Job, number: int) -> Location:
    return job.sources[number].location


_DOING = {
    "members": "gathering groups",
    "places": "sharing groups out",
    "keys": "scanning",
    "ranks": "ranking",
    "groups": "listing groups",
    "segments": "encoding",
}
_UNITS = {
    "members": "files",
    "places": "units",
    "keys": "files",
    "ranks": "ranges",
    "groups": "units",
    "segments": "files",
}


def _do(
    job: Job,
    step: str,
    numbers: Sequence[int],
    task: Callable[[int], Receipt],
    run_units: RunUnits,
    reads: Callable[[int], Location] | None = None,
) -> list[Receipt]:
    """Do the units of a step, except those that have a receipt; all receipts, in order."""
    names = {number: unit_name(job, step, number) for number in numbers}
    folder = job.folder if step == "groups" else job.work
    found = dict(read_receipts(folder, names.values()))
    todo = [number for number, name in names.items() if name not in found]
    with progress(len(todo), _DOING[step], _UNITS[step]) as bar:
        for receipt in bar.over(run_units(todo, task, reads)):
            found[receipt.unit] = receipt
    return [found[name] for name in names.values()]


def _check_reach(settings: RunSettings, given: Given) -> None:
    """What is given has to lie where the containers of a cluster can read it."""
    table, kept = given.table, given.kept
    places = [] if table is None else [("--split-table", table.location)]
    places += [] if kept is None else [("--keep-splits", kept.folder)]
    for flag, place in places:
        if settings.master == "yarn" and place.scheme == "file":
            raise Usage(
                expected="a place that every container can read, such as hdfs://…",
                found=place,
                where=flag,
                hint="Put it there: hdfs dfs -put.",
            )


def _attempt(settings: RunSettings, given: Given) -> Attempt:
    # The recipe has the table's digest alone: verify looks for it where it was.
    table = {} if given.table is None else {"split_table": str(given.table.location)}
    recorded = {**settings.for_the_record(), **table}
    return new_attempt("sharder", recorded, libraries=_LIBRARIES)


def _job(settings: RunSettings, inputs: Inputs, given: Given, asked: Plan, attempt: Attempt) -> Job:
    known = run_name("shards", asked.recipe, asked.input_identities)
    recipe = recipe_of(settings, given)
    return Job(
        folder=asked.folder,
        basis=digest([known, attempt.producer.version]),
        attempt=attempt.id,
        rules=rules_of(recipe, inputs, given),
        where=inputs.where,
        sources=inputs.sources,
        ranges=ranges_for(inputs.windows),
        packing=packing_of(recipe),
        given=given,
    )
