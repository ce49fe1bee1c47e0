"""`run`: process the units that have no receipt yet, then commit features and ledger."""

import time
from collections.abc import Iterator, Sequence

import structlog
from audioloom_manifest.kinds import FeaturesManifest, RecordingsManifest
from audioloom_manifest.layout import root_of
from audioloom_manifest.publication import Plan, commit
from audioloom_manifest.reader import Opened
from audioloom_manifest.receipts import Receipt
from audioloom_runs.cost import note_actual
from audioloom_runs.tables import duration_text
from audioloom_stage.result import Result
from audioloom_stage.terminal import counted

from audioloom_featurizer.attempts import committed_result, find_run, new_attempt
from audioloom_featurizer.capacity import cost_of
from audioloom_featurizer.commands.plan import context_of, planned_run, units_of
from audioloom_featurizer.extraction.agreement import need_librosa
from audioloom_featurizer.extraction.error_budget import ErrorBudget, parse_budget
from audioloom_featurizer.extraction.header_probe import MUCH_PADDING, least_padding
from audioloom_featurizer.extraction.partition import Unit, commit_units
from audioloom_featurizer.extraction.sample import check_sample
from audioloom_featurizer.extraction.scheduler import Runner, Task, finish_units, stats_of
from audioloom_featurizer.sandbox.supervisor import WorkerLimits
from audioloom_featurizer.settings import DEFAULT_BUDGET, RetrySettings, RunSettings

log = structlog.get_logger()


def run(settings: RunSettings, runner: Runner | None = None) -> Result:
    """Extract the features of every recording; commit them with the ledger of refused recordings.

    The runner processes the units; by default it is Spark on `settings.master`.
    """
    settings.check_configured()
    budget = parse_budget(settings.error_budget, default=DEFAULT_BUDGET)
    opened, planned = planned_run(settings)
    return extract_features(opened, planned, budget, settings, runner)


def extract_features(
    opened: Opened[RecordingsManifest],
    planned: Plan,
    budget: ErrorBudget,
    settings: RunSettings | RetrySettings,
    runner: Runner | None,
) -> Result:
    """Do the planned run unless it is committed already; return the features manifest.

    A runner of the caller's decodes in this process, so the comparison with librosa does as well.

    Raises:
        MissingLibrary: librosa is not installed.
        Disagreement: the values are not those of librosa.
        TooManyRefused, NothingReadable: the error budget is exceeded; finished units are kept.
    """
    if (standing := find_run(planned)) is not None:
        return _result(standing, already=True)
    began = time.monotonic()
    attempt = new_attempt(settings.for_the_record())
    context = context_of(opened, planned, settings.feature, attempt.id)
    if context.settings.feature.agreement is not None:
        need_librosa(opened.location)
    units = units_of(planned, context)
    stats = opened.manifest.stats
    attempt.cost.update(cost_of(planned, context.settings, settings, stats, len(units)))
    listed = commit_units(planned.folder, units)
    limits = WorkerLimits(int(settings.decoder_memory), settings.decoder_timeout)

    def in_spark(units: Sequence[Unit], task: Task) -> Iterator[Receipt]:
        from audioloom_featurizer.extraction import spark  # noqa: PLC0415 - a rerun needs no Spark

        root, counts = root_of(planned.folder), attempt.counts
        return spark.extract_in_spark(units, task, limits, settings, root, counts)

    receipts = finish_units(context, units, budget, runner or in_spark)
    agreement = check_sample(context, units, receipts, None if runner else limits)
    files = [listed, *(file for receipt in receipts for file in receipt.files)]
    taken, makers = time.monotonic() - began, {receipt.attempt for receipt in receipts}
    note_actual(attempt, planned.folder, files, taken, cores=settings.slots, makers=makers)
    committed = commit(planned, attempt, files, stats_of(receipts, agreement))
    stats = committed.opened.manifest.stats
    done = "committed" if committed.ours else "already committed"
    log.info(
        done,
        readable=f"{done} {counted(stats.windows, 'windows')} of"
        f" {counted(stats.extracted, 'recordings')},"
        f" {stats.refused:,} refused, after {duration_text(time.monotonic() - began)}",
        windows=stats.windows,
    )
    return _result(committed.opened, already=not committed.ours)


def _result(opened: Opened[FeaturesManifest], *, already: bool) -> Result:
    manifest = opened.manifest
    if manifest.stats.refused:
        log.warning(
            "refused recordings", recordings=manifest.stats.refused, **manifest.stats.refusals
        )
    padding = least_padding(manifest)
    if padding > MUCH_PADDING:
        log.warning(
            "most of the values are padding: `plan` proposes another --window-seconds",
            padding=f"{padding:.0%}",
        )
    facts = manifest.stats.model_dump(exclude={"labels"})
    look = "inspect --ledger" if opened.files("ledger") else "inspect"
    useful = (f"featurizer {look}", "featurizer verify", "sharder plan")
    return committed_result(opened, facts, *useful, already=already)
