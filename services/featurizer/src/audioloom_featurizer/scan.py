"""`scan`: list a source folder into a recordings manifest.

Recordings pass through as batches, from the listing to the inventory, and are sorted on disk on the
way: memory does not grow with their number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
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
from audioloom_stage import JSON, Progress, Result, bind, progress
from audioloom_storage import Location, exists, locate

from audioloom_featurizer.attempts import new_attempt
from audioloom_featurizer.errors import (
    BadWish,
    NoRecordings,
)
from audioloom_featurizer.given import given_recordings, said_by
from audioloom_featurizer.inventory import ROLE, Written, write_inventory
from audioloom_featurizer.joining import columns_of, join_labels, read_labels
from audioloom_featurizer.labels import compile_pattern, label_by_pattern, labelled
from audioloom_featurizer.listing import clean_suffixes, list_recordings
from audioloom_featurizer.rows import each_once
from audioloom_featurizer.scratch import scratch_folder
from audioloom_featurizer.seen import Seen
from audioloom_featurizer.settings import ScanSettings
from audioloom_featurizer.since import additions, chain_of
from audioloom_featurizer.sorting import sorted_batches
from audioloom_featurizer.spill import spill
from audioloom_featurizer.subtrees import Job, list_in_tasks, listed_rows
from audioloom_featurizer.tables import open_table

ALGORITHM = 1
FOLDERS_A_SLOT = 8
ENOUGH_FOLDERS = 64

log = structlog.get_logger()


@dataclass(frozen=True)
class Place:
    """Where the recordings lie, where runs do, and what tasks hand over."""

    source: Location
    root: Location
    scratch: Location


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
            rows = _rows(settings, Place(source, root, scratch), chain, seen, bar)
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
        listing=written.listing,
        labels=written.labels if from_tables else None,
        unlabelled="drop" if settings.unlabelled == "drop" else "keep",
    )
    inputs = tuple(opened.reference(root) for opened in chain[:1])
    name = settings.name or run_name("recordings", recipe, [each.identity for each in inputs])
    return Plan("recordings", name, run_folder(root, "recordings", name), recipe, inputs)


def _rows(
    settings: ScanSettings,
    place: Place,
    chain: list[Opened[RecordingsManifest]],
    seen: Seen,
    bar: Progress,
) -> Iterator[pa.RecordBatch]:
    """The rows of the inventory, in the order of their paths.

    Raises:
        BadPattern, BadWish, BadTable: what is asked for does not fit together, before any listing.
    """
    by_key = settings.labels is not None and settings.labels_by == "key"
    pattern = settings.pattern and compile_pattern(settings.pattern, with_key=by_key)
    if by_key and not pattern:
        raise BadWish(
            "labels are to be joined by a key that nothing says",
            where="--labels-by key",
            expected="a --pattern with the named group key",
            found="none",
        )
    if pattern:
        seen.say("--pattern", [name for name in pattern.groupindex if name != "key"])
    in_order = settings.inventory is None and settings.master != ""
    if in_order:
        rows = _listed_in_tasks(settings, place, seen, bar, by_key=by_key)
    else:
        rows = _counted(_listed(settings, place.source, seen), bar)
        if pattern:
            rows = label_by_pattern(rows, pattern, seen.matches)
    rows = _noted(rows, seen)
    if settings.labels is not None:
        table = open_table(locate(settings.labels))
        named = {str(name): column for name, column in settings.labels_columns.items()}
        columns = columns_of(table, settings.labels_by, named)
        seen.say("--labels", list(columns.said))
        labels = read_labels(table, columns, place.source)
        said, where = list(columns.said), table.where
        rows = join_labels(rows, labels, settings.labels_by, said, seen.join, where)
        in_order = settings.labels_by == "path"
    if not in_order:
        rows = sorted_batches(rows, "path")
    rows = each_once(rows, settings.inventory or place.source)
    if chain:
        rows = additions(rows, chain, seen.changes)
    return labelled(rows, seen.bare, drop=settings.unlabelled == "drop")


def _listed(settings: ScanSettings, source: Location, seen: Seen) -> Iterator[pa.RecordBatch]:
    suffixes = clean_suffixes(settings.suffix)
    if settings.inventory is None:
        return list_recordings(source, suffixes, seen.skipped)
    table = open_table(locate(settings.inventory))
    seen.say("--inventory", said_by(table))
    return given_recordings(table, source, suffixes, seen.skipped)


def _listed_in_tasks(
    settings: ScanSettings, place: Place, seen: Seen, bar: Progress, *, by_key: bool
) -> Iterator[pa.RecordBatch]:
    from audioloom_featurizer.spark_scan import spark_runner  # noqa: PLC0415 - a second, for a walk

    job = Job(
        source=place.source,
        suffixes=clean_suffixes(settings.suffix),
        pattern=settings.pattern,
        with_key=by_key,
        scratch=place.scratch,
    )
    slots = settings.executors * settings.executor_cores if settings.master == "yarn" else 0
    enough = max(ENOUGH_FOLDERS, FOLDERS_A_SLOT * slots)
    with spark_runner(settings, place.root) as runner:
        levels, skipped, matches = list_in_tasks(job, runner, enough, bar)
    seen.skipped.add(skipped)
    seen.matches.add(matches)
    return listed_rows(levels)


def _noted(batches: Iterator[pa.RecordBatch], seen: Seen) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        seen.listed += batch.num_rows
        yield batch


def _counted(batches: Iterator[pa.RecordBatch], bar: Progress) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        bar.advance(batch.num_rows)
        yield batch


def _for_the_record(settings: ScanSettings) -> dict[str, Any]:
    names = ("inventory", "labels", "labels_by", "since")
    given = {name: value for name in names if (value := getattr(settings, name)) is not None}
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
