"""`import`: make committed features of a table of windows that another program computed."""

from collections import Counter

import structlog
from audioloom_manifest.kinds import FeaturesManifest
from audioloom_manifest.publication import commit
from audioloom_manifest.reader import Opened
from audioloom_manifest.tables import Table, open_table
from audioloom_stage.logs import bind
from audioloom_stage.progress_bar import progress
from audioloom_stage.result import JSON, Result
from audioloom_storage import locate

from audioloom_featurizer.attempts import committed_result, find_run, new_attempt
from audioloom_featurizer.inventory.tally import Tally
from audioloom_featurizer.scratch import scratch_file
from audioloom_featurizer.settings import ImportSettings
from audioloom_featurizer.streams import sorted_batches, stored
from audioloom_featurizer.tables.columns import VALUES, window_columns
from audioloom_featurizer.tables.intake import Intake
from audioloom_featurizer.tables.recipe import plan_import
from audioloom_featurizer.tables.recordings import Recordings, write_files
from audioloom_featurizer.tables.values import form_of

log = structlog.get_logger()


def import_table(settings: ImportSettings) -> Result:
    """Commit the features of a table, unless they are committed already."""
    bind(input=settings.table)
    opened, already, counts = commit_table(open_table(locate(settings.table)), settings)
    manifest = opened.manifest
    facts: dict[str, JSON] = {
        "feature": manifest.recipe.feature.model_dump(mode="json"),
        "recordings": manifest.stats.recordings,
        "windows": manifest.stats.windows,
        "flagged": manifest.stats.flagged,
        "labels": len(manifest.stats.labels),
        "unlabelled": counts["unlabelled"] - counts["dropped"],
        "dropped": counts["dropped"],
    }
    useful = ("featurizer inspect", "featurizer verify", "sharder plan")
    return committed_result(opened, facts, *useful, already=already)


def commit_table(
    table: Table, settings: ImportSettings
) -> tuple[Opened[FeaturesManifest], bool, Counter[str]]:
    """Commit the features of an open table, unless they are committed already.

    Nothing is written below the root before the whole table was checked. Values and rows go through
    local files, so memory does not grow with the table.

    Returns:
        The run, whether it was committed before, and the counts of the table.

    Raises:
        NoWindows, BadTable, BadWindows, Unlabelled: the table cannot be used.
        NameTaken: other features have the name.
    """
    columns = window_columns(table, settings.columns, settings.feature_name)
    form = form_of(table, columns[VALUES], settings)
    with scratch_file() as values, scratch_file() as others:
        intake = Intake(table, columns, form, settings, values)
        recordings = Recordings(table.where)
        with progress(None, "reading", "windows") as bar:
            tables = recordings.checked(sorted_batches(intake.batches(bar), "order"))
            rows = stored(others, (batch for table in tables for batch in table.to_batches()))
        _warn(intake.tally)
        root, sha256 = locate(settings.root), intake.sha256
        plan, recipe = plan_import(settings, form, sha256, mixed=intake.mixed, root=root)
        if (standing := find_run(plan)) is not None:
            return standing, True, intake.tally.counts
        attempt = new_attempt({"table": settings.table})
        with progress(intake.taken, "writing", "windows") as bar:
            files = []
            most = max(1, min(recipe.unit_recordings, recipe.unit_bytes // form.width))
            for entry in write_files(rows, values, recipe.feature, plan.folder, most):
                files.append(entry)
                bar.advance(entry.records or 0)
    committed = commit(plan, attempt, files, recordings.stats())
    log.info("committed" if committed.ours else "already committed")
    return committed.opened, not committed.ours, intake.tally.counts


def _warn(tally: Tally) -> None:
    if windows := tally.counts["unlabelled"]:
        log.warning(
            "windows without label and target",
            windows=windows,
            dropped=tally.counts["dropped"],
            examples=tally.examples["unlabelled"],
        )
