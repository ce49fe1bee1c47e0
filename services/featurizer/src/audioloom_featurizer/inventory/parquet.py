"""The inventory as a Parquet file: one row per recording, sorted by path; digests and counts."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from audioloom_manifest import Opened, RecordingsManifest, RecordingsStats
from audioloom_manifest.canonical import canonical_number
from audioloom_manifest.file_list import check_file
from audioloom_manifest.parquet import INVENTORY, table_writer
from audioloom_stage import BadData
from audioloom_storage import Location, open_read

from audioloom_featurizer.errors import BadInventory
from audioloom_featurizer.inventory.schema import in_groups

ROLE = "inventory"
ROWS_PER_GROUP = 8192
"""Small against a unit, which reads every row group that holds one of its rows."""

MOST_LABELS = 100_000
LISTING_COLUMNS = ("path", "size", "modified_ns")
LABELLING_COLUMNS = ("path", "label", "target", "group")

Row = dict[str, Any]


@dataclass(frozen=True)
class InventoryFacts:
    """Facts about the rows of an inventory.

    Attributes:
        stats: the counts of the rows.
        listing: the digest of `LISTING_COLUMNS`; it does not depend on labels.
        labels: the digest of `LABELLING_COLUMNS`.
    """

    stats: RecordingsStats
    listing: str
    labels: str


def write_inventory(sink: Any, batches: Iterable[pa.RecordBatch], where: object) -> InventoryFacts:
    """Write batches of `ROWS`, in the order of their paths, in row groups of `ROWS_PER_GROUP`.

    Raises:
        BadData: there are more labels than a manifest may hold.
    """
    summary = InventorySummary()
    with table_writer(sink, INVENTORY) as writer:
        for rows in in_groups(batches, ROWS_PER_GROUP):
            group = _as_inventory(rows)
            writer.write_table(group, row_group_size=ROWS_PER_GROUP)
            for batch in group.to_batches():
                summary.add(batch)
            if len(summary.counts) > MOST_LABELS:
                raise BadData(
                    "too many labels",
                    where=where,
                    expected=f"at most {MOST_LABELS} different labels",
                    found=f"more, such as {next(iter(summary.counts))}",
                    hint="Is the label rather a group, or a target?",
                )
    return summary.facts()


def _as_inventory(rows: pa.Table) -> pa.Table:
    columns = [
        rows.column(field.name)
        if field.name in rows.schema.names
        else pa.nulls(rows.num_rows, field.type)
        for field in INVENTORY
    ]
    return pa.Table.from_arrays(columns, schema=INVENTORY)


class InventorySummary:
    """Sums the counts and the digests of an inventory, batch by batch."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._recordings = self._bytes = self._labelled = self._grouped = 0
        self._listing, self._labels = RowDigest(LISTING_COLUMNS), RowDigest(LABELLING_COLUMNS)

    def add(self, batch: pa.RecordBatch) -> None:
        """Add a batch."""
        self._recordings += batch.num_rows
        self._bytes += pc.sum(batch.column("size")).as_py() or 0
        nameless = pc.and_(pc.is_null(batch.column("label")), pc.is_null(batch.column("target")))
        self._labelled += batch.num_rows - (pc.sum(nameless).as_py() or 0)
        self._grouped += batch.num_rows - batch.column("group").null_count
        for each in pc.value_counts(batch.column("label").drop_null()).to_pylist():
            self.counts[each["values"]] += each["counts"]
        self._listing.add(batch)
        self._labels.add(batch)

    def facts(self) -> InventoryFacts:
        """The facts about all batches."""
        stats = RecordingsStats(
            recordings=self._recordings,
            bytes=self._bytes,
            labelled=self._labelled,
            grouped=self._grouped,
            labels=dict(sorted(self.counts.items())),
        )
        return InventoryFacts(stats, self._listing.hexdigest(), self._labels.hexdigest())


class RowDigest:
    """SHA-256 over some columns of all rows: a line of canonical JSON for each row.

    `canonical_bytes` is not used because it would take a minute for ten million rows.
    """

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = columns
        self._digest = hashlib.sha256()

    def add(self, batch: pa.RecordBatch) -> None:
        """Add rows."""
        columns = [_as_json(batch.column(name)) for name in self._columns]
        rows = map(",".join, zip(*columns, strict=True))
        text = "".join(f"[{row}]\n" for row in rows)
        self._digest.update(text.encode())

    def hexdigest(self) -> str:
        """The digest of the rows so far."""
        return self._digest.hexdigest()


def _as_json(column: pa.Array) -> list[str]:
    write: Callable[[Any], str] = repr
    if pa.types.is_string(column.type):
        write = encode_basestring
    elif pa.types.is_floating(column.type):
        write = canonical_number
    return ["null" if value is None else write(value) for value in column.to_pylist()]


def inventory_location(
    opened: Opened[RecordingsManifest], *, checked_before: bool = False
) -> Location:
    """Check the checksum of a recordings manifest's inventory and return its location.

    Parquet does not notice every damaged byte, so a damaged file could give other rows.

    Args:
        opened: the manifest.
        checked_before: the caller has just compared the checksums of all files.

    Raises:
        BadInventory: the manifest does not list exactly one inventory.
        MissingFile, WrongChecksum: the file is missing or was changed after the commit.
    """
    entries = opened.files(ROLE)
    if len(entries) != 1:
        raise BadInventory(where=opened.location, expected="one inventory", found=len(entries))
    if not checked_before:
        check_file(opened.folder, entries[0])
    return opened.folder / entries[0].path


@contextmanager
def open_inventory(location: Location) -> Iterator[pq.ParquetFile]:
    """Open an inventory as a Parquet file of the contract's columns.

    Raises:
        BadInventory: the file is not Parquet, or has other columns.
    """
    with open_read(location) as stream:
        try:
            with pq.ParquetFile(
                stream, pre_buffer=False
            ) as file:  # do not read the whole file ahead
                check_columns(file.schema_arrow, INVENTORY, location)
                yield file
        except pa.ArrowException as error:
            raise BadInventory(
                where=location,
                expected="a Parquet file",
                found=str(error)[:300],
                hint="Restore the file, or scan again.",
            ) from error


def check_columns(found: pa.Schema, expected: pa.Schema, where: object) -> None:
    """Compare columns by name and type; columns of a later minor version are ignored.

    Raises:
        BadInventory: a column is missing or has another type; the message names the first.
    """
    for field in expected:
        at = found.get_field_index(field.name)
        has = "no such column" if at < 0 else found.field(at).type
        if has != field.type:
            raise BadInventory(
                where=where, expected=f"the column {field.name} of type {field.type}", found=has
            )


def read_batches(location: Location) -> Iterator[pa.RecordBatch]:
    """Read the rows of an inventory, as many at a time as a row group has."""
    with open_inventory(location) as file:
        names = INVENTORY.names
        yield from file.iter_batches(ROWS_PER_GROUP, columns=names, use_threads=False)


def read_rows(location: Location, first: int, rows: int) -> list[Row]:
    """Read rows *first* … *first + rows* - 1, and no row group without one of them."""
    found: list[Row] = []
    with open_inventory(location) as file:
        begin = 0
        for group in range(file.num_row_groups):
            size = file.metadata.row_group(group).num_rows
            low, high = max(first, begin), min(first + rows, begin + size)
            if low < high:
                table = file.read_row_group(group, columns=INVENTORY.names, use_threads=False)
                found += table.slice(low - begin, high - low).to_pylist()
            begin += size
    return found
