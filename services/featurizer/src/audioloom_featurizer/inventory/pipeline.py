"""Stream the rows of an inventory: list, label, join and sort recordings."""

import re
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from audioloom_manifest.kinds import RecordingsManifest
from audioloom_manifest.reader import Opened
from audioloom_manifest.tables import Table, open_table
from audioloom_stage.progress_bar import Progress
from audioloom_storage import Location, locate

from audioloom_featurizer.errors import InvalidOption
from audioloom_featurizer.inventory.labels.jdbc import with_password, without_parameters
from audioloom_featurizer.inventory.labels.path_pattern import (
    KEY,
    compile_pattern,
    label_by_pattern,
)
from audioloom_featurizer.inventory.labels.table import join_labels, label_columns, read_labels
from audioloom_featurizer.inventory.scan_report import ScanReport
from audioloom_featurizer.inventory.schema import LABEL_COLUMNS, each_once, without_label
from audioloom_featurizer.inventory.sources.parallel_walk import ListingSpec, list_in_tasks
from audioloom_featurizer.inventory.sources.selection import Selection
from audioloom_featurizer.inventory.sources.table import recordings_in_table
from audioloom_featurizer.inventory.sources.walk import normalise_suffixes, recordings_among
from audioloom_featurizer.inventory.subset import new_recordings, sample_rows
from audioloom_featurizer.settings import ScanSettings
from audioloom_featurizer.streams import sorted_batches

FOLDERS_A_SLOT = 8
ENOUGH_FOLDERS = 64


def inventory_rows(
    settings: ScanSettings,
    selection: Selection,
    scratch: Location,
    chain: list[Opened[RecordingsManifest]],
    report: ScanReport,
    bar: Progress,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the inventory, in the order of their paths; tasks write to *scratch*.

    Raises:
        InvalidOption, BadTable: an option is invalid or contradicts another option;
            nothing was listed.
    """
    source, database = selection.folder, with_password(settings)
    with_table = settings.labels is not None or database is not None
    by_key = with_table and settings.labels_by == "key"
    pattern = compile_pattern(settings.pattern, with_key=by_key) if settings.pattern else None
    if by_key and not pattern:
        raise InvalidOption(
            "labels are joined by a key that no option gives",
            where="--labels-by key",
            expected="a --pattern with the named group key",
            found="none",
        )
    if pattern:
        report.fill("--pattern", [name for name in pattern.groupindex if name != KEY])
    in_order = settings.inventory is None and settings.master != ""
    if in_order:
        rows = _listed_in_tasks(settings, selection, pattern, scratch, report, bar)
    else:
        rows = _advancing(_listed(settings, selection, report), bar)
        if pattern:
            rows = label_by_pattern(rows, pattern, report)
    if with_table:
        table = _table(settings, scratch, database)
        columns = _columns(settings, table)
        names = [name for name in columns if name != KEY]
        report.fill("--labels", names)
        labels = read_labels(table, columns, source)
        where = settings.labels or settings.labels_jdbc
        rows = join_labels(rows, labels, settings.labels_by, names, report, where)
        in_order = settings.labels_by == "path"
    if not in_order:
        rows = sorted_batches(rows, "path")
    rows = each_once(rows, settings.inventory or source)
    if chain:
        rows = new_recordings(rows, chain, report)
    if settings.limit is not None:
        rows = sample_rows(rows, settings.limit, report)
    return _counted(rows, report, drop=settings.unlabelled == "drop")


def _table(settings: ScanSettings, scratch: Location, database: ScanSettings | None) -> Table:
    """Open the table of labels; a database's result is first written to the scratch folder."""
    if database is None:
        return open_table(locate(settings.labels or ""))
    from audioloom_featurizer.inventory import spark  # noqa: PLC0415 - a second, for a walk

    def choose(names: Sequence[str]) -> dict[str, str]:
        columns = _columns(settings, Table(without_parameters(database.labels_jdbc), (), names))
        types = {column: "string" for name, column in columns.items() if name != "target"}
        return {**types, columns["target"]: "double"} if "target" in columns else types

    spark.fetch(database, choose, scratch / "labels")
    return open_table(scratch / "labels")


def _columns(settings: ScanSettings, table: Table) -> dict[str, str]:
    return label_columns(table, settings.labels_by, settings.labels_columns)


def _listed(
    settings: ScanSettings, selection: Selection, report: ScanReport
) -> Iterator[pa.RecordBatch]:
    source = selection.folder
    suffixes = normalise_suffixes(settings.suffix)
    if settings.inventory is None:
        return recordings_among(
            selection.files(),
            source,
            suffixes,
            report,
            containers=settings.containers or selection.with_members,
            holds_member=selection.holds_member,
        )
    if settings.containers or selection.with_members:
        raise InvalidOption(
            "a table lists files, and no members of containers",
            where="--inventory",
            expected="files and folders, without --containers",
            found="--containers" if settings.containers else "a container or a chain as a source",
            hint="Scan the containers without --inventory.",
        )
    table = open_table(locate(settings.inventory))
    report.fill("--inventory", [name for name in LABEL_COLUMNS if name in table.names])
    return recordings_in_table(table, selection, suffixes, report)


def _listed_in_tasks(
    settings: ScanSettings,
    selection: Selection,
    pattern: re.Pattern[str] | None,
    scratch: Location,
    report: ScanReport,
    bar: Progress,
) -> Iterator[pa.RecordBatch]:
    from audioloom_featurizer.inventory import spark  # noqa: PLC0415 - a second, for a walk

    suffixes = normalise_suffixes(settings.suffix)
    spec = ListingSpec(selection.folder, suffixes, pattern, scratch, settings.containers)
    folders = selection.folders()
    slots = settings.executors * settings.executor_cores if settings.master == "yarn" else 0
    enough = max(ENOUGH_FOLDERS, FOLDERS_A_SLOT * slots)
    with spark.spark_runner(settings) as runner:
        return list_in_tasks(spec, folders, runner, enough, report, bar)


def _counted(
    batches: Iterator[pa.RecordBatch], report: ScanReport, *, drop: bool
) -> Iterator[pa.RecordBatch]:
    """Note the paths, count the rows without label and target, and drop these rows if *drop*."""
    for batch in batches:
        report.paths.add(batch.column("path").to_pylist())
        nameless = without_label(batch)
        paths = batch.column("path").filter(nameless)
        report.add("unlabelled", paths)
        if drop:
            report.add("dropped", paths)
        yield batch.filter(pc.invert(nameless)) if drop else batch


def _advancing(batches: Iterator[pa.RecordBatch], bar: Progress) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        bar.advance(batch.num_rows)
        yield batch
