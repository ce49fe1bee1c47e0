"""Stream the rows of an inventory: list, label, join and sort recordings."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from audioloom_manifest import Opened, RecordingsManifest
from audioloom_manifest.tables import Table, open_table
from audioloom_stage import Progress
from audioloom_storage import Location, locate

from audioloom_featurizer.errors import InvalidOption
from audioloom_featurizer.external.sort import sorted_batches
from audioloom_featurizer.inventory.delta import new_recordings
from audioloom_featurizer.inventory.labels.jdbc import Database, database_from
from audioloom_featurizer.inventory.labels.path_pattern import (
    compile_pattern,
    count_unlabelled,
    label_by_pattern,
)
from audioloom_featurizer.inventory.labels.table import (
    LabelColumns,
    join_labels,
    label_columns,
    read_labels,
)
from audioloom_featurizer.inventory.scan_report import ScanReport
from audioloom_featurizer.inventory.schema import each_once
from audioloom_featurizer.inventory.sources.parallel_walk import (
    ListingSpec,
    list_in_tasks,
    merged_rows,
)
from audioloom_featurizer.inventory.sources.table import label_columns_in, recordings_in_table
from audioloom_featurizer.inventory.sources.walk import normalise_suffixes, walk_recordings
from audioloom_featurizer.settings import ScanSettings

FOLDERS_A_SLOT = 8
ENOUGH_FOLDERS = 64


@dataclass(frozen=True)
class ScanLocations:
    """The source of the recordings, the root of the runs, and the scratch folder of the tasks."""

    source: Location
    root: Location
    scratch: Location


def inventory_rows(
    settings: ScanSettings,
    places: ScanLocations,
    chain: list[Opened[RecordingsManifest]],
    report: ScanReport,
    bar: Progress,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the inventory, in the order of their paths.

    Raises:
        BadPattern, InvalidOption, BadTable: an option is invalid or contradicts another option;
            nothing was listed.
    """
    database = database_from(settings)
    with_table = settings.labels is not None or database is not None
    by_key = with_table and settings.labels_by == "key"
    pattern = settings.pattern and compile_pattern(settings.pattern, with_key=by_key)
    if by_key and not pattern:
        raise InvalidOption(
            "labels are joined by a key that no option gives",
            where="--labels-by key",
            expected="a --pattern with the named group key",
            found="none",
        )
    if pattern:
        report.fill("--pattern", [name for name in pattern.groupindex if name != "key"])
    in_order = settings.inventory is None and settings.master != ""
    if in_order:
        rows = _listed_in_tasks(settings, places, report, bar, by_key=by_key)
    else:
        rows = _advancing(_listed(settings, places.source, report), bar)
        if pattern:
            rows = label_by_pattern(rows, pattern, report.matches)
    rows = _counted(rows, report)
    if with_table:
        table = _table(settings, places, database)
        columns = _columns(settings, table)
        report.fill("--labels", list(columns.names))
        labels = read_labels(table, columns, places.source)
        names, where = list(columns.names), settings.labels or settings.labels_jdbc
        rows = join_labels(rows, labels, settings.labels_by, names, report.join, where)
        in_order = settings.labels_by == "path"
    if not in_order:
        rows = sorted_batches(rows, "path")
    rows = each_once(rows, settings.inventory or places.source)
    if chain:
        rows = new_recordings(rows, chain, report.changes)
    return count_unlabelled(rows, report.unlabelled, drop=settings.unlabelled == "drop")


def _table(settings: ScanSettings, places: ScanLocations, database: Database | None) -> Table:
    """Open the table of labels; a database's result is first written to the scratch folder."""
    if database is None:
        return open_table(locate(settings.labels or ""))
    from audioloom_featurizer.inventory import spark  # noqa: PLC0415 - a second, for a walk

    def choose(names: Sequence[str]) -> dict[str, str]:
        columns = _columns(settings, Table(database.shown, (), names))
        texts = dict.fromkeys([columns.key, *columns.names.values()], "string")
        return texts | {
            column: "double" for name, column in columns.names.items() if name == "target"
        }

    spark.fetch(database, choose, places.scratch / "labels", settings=settings, root=places.root)
    return open_table(places.scratch / "labels")


def _columns(settings: ScanSettings, table: Table) -> LabelColumns:
    named = {str(name): column for name, column in settings.labels_columns.items()}
    return label_columns(table, settings.labels_by, named)


def _listed(
    settings: ScanSettings, source: Location, report: ScanReport
) -> Iterator[pa.RecordBatch]:
    suffixes = normalise_suffixes(settings.suffix)
    if settings.inventory is None:
        return walk_recordings(source, suffixes, report.skipped)
    table = open_table(locate(settings.inventory))
    report.fill("--inventory", label_columns_in(table))
    return recordings_in_table(table, source, suffixes, report.skipped)


def _listed_in_tasks(
    settings: ScanSettings,
    places: ScanLocations,
    report: ScanReport,
    bar: Progress,
    *,
    by_key: bool,
) -> Iterator[pa.RecordBatch]:
    from audioloom_featurizer.inventory import spark  # noqa: PLC0415 - a second, for a walk

    spec = ListingSpec(
        source=places.source,
        suffixes=normalise_suffixes(settings.suffix),
        pattern=settings.pattern,
        with_key=by_key,
        scratch=places.scratch,
    )
    slots = settings.executors * settings.executor_cores if settings.master == "yarn" else 0
    enough = max(ENOUGH_FOLDERS, FOLDERS_A_SLOT * slots)
    with spark.spark_runner(settings, places.root) as runner:
        levels, skipped, matches = list_in_tasks(spec, runner, enough, bar)
    report.skipped.add(skipped)
    report.matches.add(matches)
    return merged_rows(levels)


def _counted(batches: Iterator[pa.RecordBatch], report: ScanReport) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        report.listed += batch.num_rows
        yield batch


def _advancing(batches: Iterator[pa.RecordBatch], bar: Progress) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        bar.advance(batch.num_rows)
        yield batch
