"""`scan`: list a source folder into a recordings manifest.

Recordings are streamed in batches from the listing to the inventory and are sorted on disk, so
memory does not grow with their number.
"""

from typing import Any

from audioloom_manifest.kinds import RecordingsManifest, RecordingsRecipe
from audioloom_manifest.publication import Plan, commit
from audioloom_manifest.reader import Opened
from audioloom_stage.logs import bind
from audioloom_stage.progress_bar import progress
from audioloom_stage.result import JSON, Result
from audioloom_storage import Location, locate

from audioloom_featurizer.attempts import committed_result, find_run, new_attempt
from audioloom_featurizer.inventory.labels.jdbc import without_parameters
from audioloom_featurizer.inventory.parquet import ROLE, InventorySummary, write_inventory
from audioloom_featurizer.inventory.pipeline import inventory_rows
from audioloom_featurizer.inventory.scan_report import CHANGES, SKIPPED, ScanReport
from audioloom_featurizer.inventory.sources.selection import select
from audioloom_featurizer.inventory.sources.walk import normalise_suffixes
from audioloom_featurizer.inventory.subset import listing_chain
from audioloom_featurizer.scratch import publish_as, scratch_file, scratch_folder
from audioloom_featurizer.settings import ScanSettings

ALGORITHM = 1


def scan(settings: ScanSettings) -> Result:
    """List and label the recordings, and commit the manifest unless it is committed already."""
    settings.check_configured()
    selection, root = select(settings.source), locate(settings.root)
    source = selection.folder
    bind(input=str(source))
    report = ScanReport()
    chain = [] if settings.since is None else listing_chain(settings.since, source)
    with scratch_file() as sink, scratch_folder(settings.master, root) as scratch:
        with progress(None, "listing", "recordings") as bar:
            rows = inventory_rows(settings, selection, scratch, chain, report, bar)
            written = write_inventory(sink, rows, source)
        stats = written.stats().model_copy(update={"dropped": report.counts["dropped"]})
        report.log()
        report.propose(stats)
        report.check(settings, source, stats.recordings)
        plan = _plan(settings, source, root, written, chain, report)
        if (standing := find_run(plan)) is not None:
            return _result(standing, report, already=True)
        entry = publish_as(sink, plan.folder, ROLE, role=ROLE, records=stats.recordings)
    committed = commit(plan, new_attempt(_for_the_record(settings)), [entry], stats)
    return _result(committed.opened, report, already=not committed.ours)


def _plan(
    settings: ScanSettings,
    source: Location,
    root: Location,
    written: InventorySummary,
    chain: list[Opened[RecordingsManifest]],
    report: ScanReport,
) -> Plan:
    from_tables = any(flag != "--pattern" for flag in report.columns_from.values())
    recipe = RecordingsRecipe(
        algorithm=ALGORITHM,
        source=source.uri,
        suffixes=normalise_suffixes(settings.suffix),
        pattern=settings.pattern,
        listing_sha256=written.listing_digest.hexdigest(),
        labels_sha256=written.labelling_digest.hexdigest() if from_tables else None,
        unlabelled="drop" if settings.unlabelled == "drop" else "keep",
    )
    inputs = (opened.reference(root) for opened in chain[:1])
    return Plan.of("recordings", recipe, inputs, root, settings.name)


def _for_the_record(settings: ScanSettings) -> dict[str, Any]:
    names = ("inventory", "labels", "labels_by", "since")
    given = {name: value for name in names if (value := getattr(settings, name)) is not None}
    if settings.labels_jdbc is not None:
        shown = without_parameters(settings.labels_jdbc)
        given |= {"labels_jdbc": shown, "labels_query": settings.labels_query}
    return given | (settings.for_the_record() if settings.master else {})


def _result(opened: Opened[RecordingsManifest], report: ScanReport, *, already: bool) -> Result:
    stats, counts = opened.manifest.stats, report.counts
    data: dict[str, JSON] = {
        **stats.model_dump(),
        "unlabelled": stats.recordings - stats.labelled,
        "labels": len(stats.labels),
        "skipped": {reason: counts[reason] for reason in SKIPPED},
        "proposal": report.proposal,
        "labels_of_none": {"keys": counts["alone"], "examples": [*report.examples["alone"]]},
    }
    if opened.manifest.inputs:
        examples: dict[str, JSON] = {what: [*report.examples[what]] for what in CHANGES}
        data["since"] = {**{what: counts[what] for what in CHANGES}, "examples": examples}
    return committed_result(opened, data, "featurizer inspect", "featurizer run", already=already)
