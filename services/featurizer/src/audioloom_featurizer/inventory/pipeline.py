"""The rows of an inventory: listed or given, labelled, joined, in order, as a stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from audioloom_manifest import Opened, RecordingsManifest
from audioloom_stage import Progress
from audioloom_storage import Location, locate

from audioloom_featurizer.errors import BadWish
from audioloom_featurizer.external.sort import sorted_batches
from audioloom_featurizer.inventory.delta import additions
from audioloom_featurizer.inventory.labels.jdbc import Database, database_of
from audioloom_featurizer.inventory.labels.path_pattern import (
    compile_pattern,
    label_by_pattern,
    labelled,
)
from audioloom_featurizer.inventory.labels.table import (
    Columns,
    columns_of,
    join_labels,
    read_labels,
)
from audioloom_featurizer.inventory.scan_report import Seen
from audioloom_featurizer.inventory.schema import each_once
from audioloom_featurizer.inventory.sources.parallel_walk import Job, list_in_tasks, listed_rows
from audioloom_featurizer.inventory.sources.table import given_recordings, said_by
from audioloom_featurizer.inventory.sources.walk import clean_suffixes, list_recordings
from audioloom_featurizer.io.tables import Table, open_table
from audioloom_featurizer.settings import ScanSettings

FOLDERS_A_SLOT = 8
ENOUGH_FOLDERS = 64


@dataclass(frozen=True)
class Place:
    """Where the recordings lie, where runs do, and what tasks hand over."""

    source: Location
    root: Location
    scratch: Location


def gathered_rows(
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
    database = database_of(settings)
    with_table = settings.labels is not None or database is not None
    by_key = with_table and settings.labels_by == "key"
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
    if with_table:
        table = _table(settings, place, database)
        columns = _columns(settings, table)
        seen.say("--labels", list(columns.said))
        labels = read_labels(table, columns, place.source)
        said, where = list(columns.said), settings.labels or settings.labels_jdbc
        rows = join_labels(rows, labels, settings.labels_by, said, seen.join, where)
        in_order = settings.labels_by == "path"
    if not in_order:
        rows = sorted_batches(rows, "path")
    rows = each_once(rows, settings.inventory or place.source)
    if chain:
        rows = additions(rows, chain, seen.changes)
    return labelled(rows, seen.bare, drop=settings.unlabelled == "drop")


def _table(settings: ScanSettings, place: Place, database: Database | None) -> Table:
    """The table of labels; a database is asked for it first."""
    if database is None:
        return open_table(locate(settings.labels or ""))
    from audioloom_featurizer.inventory import spark  # noqa: PLC0415 - a second, for a walk

    def choose(names: Sequence[str]) -> dict[str, str]:
        columns = _columns(settings, Table(database.shown, (), names))
        texts = dict.fromkeys([columns.key, *columns.said.values()], "string")
        return texts | {
            column: "double" for name, column in columns.said.items() if name == "target"
        }

    spark.fetch(database, choose, place.scratch / "labels", settings=settings, root=place.root)
    return open_table(place.scratch / "labels")


def _columns(settings: ScanSettings, table: Table) -> Columns:
    named = {str(name): column for name, column in settings.labels_columns.items()}
    return columns_of(table, settings.labels_by, named)


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
    from audioloom_featurizer.inventory import spark  # noqa: PLC0415 - a second, for a walk

    job = Job(
        source=place.source,
        suffixes=clean_suffixes(settings.suffix),
        pattern=settings.pattern,
        with_key=by_key,
        scratch=place.scratch,
    )
    slots = settings.executors * settings.executor_cores if settings.master == "yarn" else 0
    enough = max(ENOUGH_FOLDERS, FOLDERS_A_SLOT * slots)
    with spark.spark_runner(settings, place.root) as runner:
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
