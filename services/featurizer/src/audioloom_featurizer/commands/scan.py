"""`scan`: list a source folder into a recordings manifest.

Recordings pass through as batches, from the listing to the inventory, and are sorted on disk on the
way: memory does not grow with their number.
"""

from __future__ import annotations

from typing import Any

import structlog
from audioloom_manifest import (
    Opened,
    Plan,
    RecordingsManifest,
    RecordingsRecipe,
    commit,
    find_committed,
    run_folder,
    run_name,
)
from audioloom_stage import JSON, Result, bind, progress
from audioloom_storage import Location, exists, locate

from audioloom_featurizer.attempts import new_attempt
from audioloom_featurizer.errors import NoRecordings
from audioloom_featurizer.inventory.delta import chain_of
from audioloom_featurizer.inventory.labels.jdbc import without_parameters
from audioloom_featurizer.inventory.parquet import ROLE, Written, write_inventory
from audioloom_featurizer.inventory.pipeline import Place, gathered_rows
from audioloom_featurizer.inventory.scan_report import Seen
from audioloom_featurizer.inventory.sources.walk import clean_suffixes
from audioloom_featurizer.io.content_addressed import spill
from audioloom_featurizer.io.scratch import scratch_folder
from audioloom_featurizer.settings import ScanSettings

ALGORITHM = 1

log = structlog.get_logger()


def scan(settings: ScanSettings) -> Result:
    """List, label, name, and commit unless it is committed already."""
    settings.check_configured()
    source, root = locate(settings.source), locate(settings.root)
    bind(input=str(source))
    if not exists(source):
        raise NoRecordings(
            "nothing lies there",
            where=source,
            expected="a folder of recordings",
            found="no such file or folder",
            hint="Check the path; a link may lead to what is gone.",
        )
    seen = Seen()
    chain = [] if settings.since is None else chain_of(settings.since, source)
    with spill() as sink, scratch_folder(settings.master, root) as scratch:
        with progress(None, "listing", "recordings") as bar:
            rows = gathered_rows(settings, Place(source, root, scratch), chain, seen, bar)
            written = write_inventory(sink, rows, source)
        seen.tell()
        seen.check(settings, source, written.stats.recordings)
        stats = written.stats.model_copy(update={"dropped": seen.bare.dropped})
        plan = plan_scan(settings, source, root, written, chain, seen)
        bind(run=plan.name)
        standing = find_committed(plan)
        if standing is not None:
            log.info("already committed", manifest=str(standing.location))
            return _result(standing, seen, already=True)
        entry = sink.publish_as(plan.folder, "inventory", role=ROLE, records=stats.recordings)
    committed = commit(plan, new_attempt(_for_the_record(settings)), [entry], stats)
    return _result(committed.opened, seen, already=not committed.ours)


def plan_scan(
    settings: ScanSettings,
    source: Location,
    root: Location,
    written: Written,
    chain: list[Opened[RecordingsManifest]],
    seen: Seen,
) -> Plan:
    """The recordings run that this listing is."""
    from_tables = any(flag != "--pattern" for flag in seen.said_by.values())
    recipe = RecordingsRecipe(
        algorithm=ALGORITHM,
        source=source.uri,
        suffixes=clean_suffixes(settings.suffix),
        pattern=settings.pattern,
        listing_sha256=written.listing,
        labels_sha256=written.labels if from_tables else None,
        unlabelled="drop" if settings.unlabelled == "drop" else "keep",
    )
    inputs = tuple(opened.reference(root) for opened in chain[:1])
    name = settings.name or run_name("recordings", recipe, [each.identity for each in inputs])
    return Plan("recordings", name, run_folder(root, "recordings", name), recipe, inputs)


def _for_the_record(settings: ScanSettings) -> dict[str, Any]:
    names = ("inventory", "labels", "labels_by", "since")
    given = {name: value for name in names if (value := getattr(settings, name)) is not None}
    if settings.labels_jdbc is not None:
        shown = without_parameters(settings.labels_jdbc)
        given |= {"labels_jdbc": shown, "labels_query": settings.labels_query}
    return given | (settings.for_the_record() if settings.master else {})


def _result(opened: Opened[RecordingsManifest], seen: Seen, *, already: bool) -> Result:
    where, stats = str(opened.location), opened.manifest.stats
    data: dict[str, JSON] = {
        "location": where,
        "name": opened.manifest.name,
        "identity": opened.manifest.identity,
        "already_committed": already,
        "recordings": stats.recordings,
        "bytes": stats.bytes,
        "labelled": stats.labelled,
        "unlabelled": stats.recordings - stats.labelled,
        "dropped": stats.dropped,
        "grouped": stats.grouped,
        "labels": len(stats.labels),
        "skipped": dict(seen.skipped.counts),
        "labels_of_none": {"keys": seen.join.unmatched, "examples": list(seen.join.examples)},
    }
    if opened.manifest.inputs:
        changes = seen.changes
        examples: dict[str, JSON] = {key: list(found) for key, found in changes.examples.items()}
        data["since"] = {"changed": changes.changed, "gone": changes.gone, "examples": examples}
    return Result(
        where,
        data,
        next=(
            f"audioloom-featurizer inspect {opened.folder}",
            f"audioloom-featurizer run {opened.folder}",
        ),
    )
