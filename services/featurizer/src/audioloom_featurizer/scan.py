"""`scan`: list a source folder into a recordings manifest."""

from __future__ import annotations

import structlog
from audioloom_manifest import (
    FileEntry,
    Opened,
    Plan,
    RecordingsManifest,
    RecordingsRecipe,
    RecordingsStats,
    commit,
    find_committed,
    run_folder,
    run_name,
)
from audioloom_stage import BadData, Result, bind, progress
from audioloom_storage import Location, exists, locate

from audioloom_featurizer.attempts import new_attempt
from audioloom_featurizer.errors import NoRecordings, PatternMatchesNothing
from audioloom_featurizer.inventory import (
    ROLE,
    Inventory,
    build_inventory,
    count,
    listing_digest,
    write_inventory,
)
from audioloom_featurizer.labels import compile_pattern
from audioloom_featurizer.listing import Skipped, clean_suffixes, list_recordings
from audioloom_featurizer.settings import ScanSettings
from audioloom_featurizer.spill import spill

ALGORITHM = 1
MOST_LABELS = 100_000

log = structlog.get_logger()


def scan(settings: ScanSettings) -> Result:
    """List, label, name, and commit unless it is committed already."""
    source, root = locate(settings.source), locate(settings.root)
    bind(input=str(source))
    skipped = Skipped()
    inventory = list_source(source, settings, skipped)
    stats = _stats(inventory, source)
    plan = plan_scan(settings, source, root, inventory)
    bind(run=plan.name)
    standing = find_committed(plan)
    if standing is not None:
        log.info("already committed", manifest=str(standing.location))
        return _result(standing, skipped, already=True)
    entry = _write(plan, inventory)
    committed = commit(plan, new_attempt({}), [entry], stats)
    return _result(committed.opened, skipped, already=not committed.ours)


def list_source(source: Location, settings: ScanSettings, skipped: Skipped) -> Inventory:
    """The labelled inventory of a source.

    Raises:
        NoRecordings: the source is not there, or holds none.
        PatternMatchesNothing: the pattern describes no path.
    """
    pattern = compile_pattern(settings.pattern) if settings.pattern is not None else None
    suffixes = clean_suffixes(settings.suffix)
    if not exists(source):
        raise NoRecordings(
            "nothing lies there",
            where=source,
            expected="a folder of recordings",
            found="no such file or folder",
            hint="Check the path; a link may lead to what is gone.",
        )
    with progress(None, "listing", "recordings") as bar:
        listed = list_recordings(source, suffixes, skipped)
        inventory = build_inventory(bar.over(listed), pattern)
    for reason, example in skipped.examples.items():
        log.info("passed over", reason=reason, files=getattr(skipped, reason), example=example)
    if not inventory.table.num_rows:
        raise NoRecordings(
            "no recordings were found",
            where=source,
            expected=f"files that end in {' '.join(suffixes)}",
            found=_others(skipped),
            hint="Check the folder, or say which files are recordings with --suffix.",
        )
    if pattern and not inventory.matched:
        raise PatternMatchesNothing(
            "the pattern matches no recording",
            where=f"--pattern {settings.pattern}",
            expected="a pattern for the whole path below the source",
            found=f"{inventory.table.num_rows} paths such as {_first_path(inventory)}",
        )
    if unmatched := inventory.table.num_rows - inventory.matched:
        log.warning("recordings that the pattern does not match have no label", files=unmatched)
    return inventory


def plan_scan(
    settings: ScanSettings, source: Location, root: Location, inventory: Inventory
) -> Plan:
    """The recordings run that this listing is."""
    recipe = RecordingsRecipe(
        algorithm=ALGORITHM,
        source=source.uri,
        suffixes=clean_suffixes(settings.suffix),
        pattern=settings.pattern,
        listing=listing_digest(inventory.table.to_batches()),
    )
    name = settings.name or run_name("recordings", recipe, [])
    return Plan("recordings", name, run_folder(root, "recordings", name), recipe, ())


def _stats(inventory: Inventory, source: Location) -> RecordingsStats:
    labels = inventory.table.column("label").unique()
    if len(labels) > MOST_LABELS:
        raise BadData(
            "too many labels",
            where=source,
            expected=f"at most {MOST_LABELS} different labels",
            found=f"{len(labels)}, such as {labels[0]}",
            hint="Is the group `label` of the pattern rather a group, or a target?",
        )
    return count(inventory.table.to_batches())


def _write(plan: Plan, inventory: Inventory) -> FileEntry:
    with spill() as sink:
        write_inventory(sink, inventory.table)
        return sink.publish_as(
            plan.folder, "inventory", role=ROLE, records=inventory.table.num_rows
        )


def _result(opened: Opened[RecordingsManifest], skipped: Skipped, *, already: bool) -> Result:
    where, stats = str(opened.location), opened.manifest.stats
    return Result(
        where,
        {
            "location": where,
            "name": opened.manifest.name,
            "identity": opened.manifest.identity,
            "already_committed": already,
            "recordings": stats.recordings,
            "bytes": stats.bytes,
            "labelled": stats.labelled,
            "grouped": stats.grouped,
            "labels": len(stats.labels),
            "skipped": {
                "hidden": skipped.hidden,
                "other": skipped.other,
                "unnameable": skipped.unnameable,
            },
        },
        next=(
            f"audioloom-featurizer inspect {opened.folder}",
            f"audioloom-featurizer run {opened.folder}",
        ),
    )


def _others(skipped: Skipped) -> str:
    if not skipped.total:
        return "no file at all"
    example = next(iter(skipped.examples.values()))
    return f"{skipped.total} other or hidden files, such as {example}"


def _first_path(inventory: Inventory) -> str:
    return str(inventory.table.column("path")[0].as_py())
