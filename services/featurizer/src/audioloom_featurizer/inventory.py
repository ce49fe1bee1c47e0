"""The inventory: one Parquet row a recording, sorted by path, and the digest of what was listed."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from re import Pattern
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from audioloom_manifest import Opened, RecordingsManifest, RecordingsStats, canonical_bytes
from audioloom_manifest.files import check_file
from audioloom_manifest.parquet import INVENTORY, table_writer
from audioloom_storage import Location, open_read

from audioloom_featurizer.errors import BadInventory
from audioloom_featurizer.labels import Labels, labels_of
from audioloom_featurizer.listing import Listed

ROLE = "inventory"
ROWS_PER_GROUP = 8192
"""A unit reads the row groups that hold its rows, so a group is small against a unit."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Inventory:
    """A listing as a table.

    Attributes:
        table: `INVENTORY`'s columns, sorted by path (by its UTF-8 bytes).
        matched: rows that the pattern described; all rows where there was no pattern.
    """

    table: pa.Table
    matched: int


def build_inventory(listed: Iterable[Listed], pattern: Pattern[str] | None) -> Inventory:
    """Label each recording and sort them all. Columns of Arrow, so some 100 bytes a recording."""
    batches: list[pa.RecordBatch] = []
    pending: list[Row] = []
    matched = 0
    for each in listed:
        labels = labels_of(each.path, pattern) if pattern else Labels()
        matched += labels is not None
        pending.append(_row(each, labels or Labels()))
        if len(pending) == ROWS_PER_GROUP:
            batches.append(pa.RecordBatch.from_pylist(pending, schema=INVENTORY))
            pending.clear()
    batches.append(pa.RecordBatch.from_pylist(pending, schema=INVENTORY))
    table = pa.Table.from_batches(batches, schema=INVENTORY).sort_by("path")
    return Inventory(table.cast(INVENTORY), matched)


def _row(listed: Listed, labels: Labels) -> Row:
    return {
        "path": listed.path,
        "member": None,
        "offset": None,
        "length": None,
        "size": listed.size,
        "modified_ns": listed.modified_ns,
        "label": labels.label,
        "target": labels.target,
        "group": labels.group,
    }


def write_inventory(sink: Any, table: pa.Table) -> None:
    """Write the table in row groups of `ROWS_PER_GROUP`."""
    with table_writer(sink, INVENTORY) as writer:
        writer.write_table(table, row_group_size=ROWS_PER_GROUP)


def listing_digest(batches: Iterable[pa.RecordBatch]) -> str:
    """SHA-256 (hex) over path, size and time of every row: what was listed, however labelled."""
    digest = hashlib.sha256()
    for batch in batches:
        columns = [batch.column(name).to_pylist() for name in ("path", "size", "modified_ns")]
        for row in zip(*columns, strict=True):
            digest.update(canonical_bytes(row) + b"\n")
    return digest.hexdigest()


class Counts:
    """The stats of an inventory, summed batch by batch."""

    def __init__(self) -> None:
        self.recordings = self.bytes = self.labelled = self.grouped = 0
        self.labels: Counter[str] = Counter()

    def add(self, batch: pa.RecordBatch) -> None:
        """Count a batch."""
        self.recordings += batch.num_rows
        self.bytes += sum(batch.column("size").to_pylist())
        labels, targets = batch.column("label").to_pylist(), batch.column("target").to_pylist()
        named = [label for label in labels if label is not None]
        self.labelled += sum(
            label is not None or target is not None
            for label, target in zip(labels, targets, strict=True)
        )
        self.grouped += batch.num_rows - batch.column("group").null_count
        self.labels.update(named)

    def stats(self) -> RecordingsStats:
        """What the manifest says."""
        return RecordingsStats(
            recordings=self.recordings,
            bytes=self.bytes,
            labelled=self.labelled,
            grouped=self.grouped,
            labels=dict(sorted(self.labels.items())),
        )


def count(batches: Iterable[pa.RecordBatch]) -> RecordingsStats:
    """The stats of all batches."""
    counts = Counts()
    for batch in batches:
        counts.add(batch)
    return counts.stats()


def inventory_location(
    opened: Opened[RecordingsManifest], *, checked_before: bool = False
) -> Location:
    """Where the inventory of a recordings manifest lies, its checksum compared.

    What rotted would not always be noticed by Parquet, and would then be another listing.

    Args:
        opened: the manifest.
        checked_before: the caller has just compared the checksums of all its files.

    Raises:
        BadInventory: the manifest does not list exactly one.
        MissingFile, WrongChecksum: the file is gone or not what was committed.
    """
    entries = opened.files(ROLE)
    if len(entries) != 1:
        raise BadInventory(where=opened.location, expected="one inventory", found=len(entries))
    if not checked_before:
        check_file(opened.folder, entries[0])
    return opened.folder / entries[0].path


@contextmanager
def open_inventory(location: Location) -> Iterator[pq.ParquetFile]:
    """The inventory as a Parquet file of the contract's columns.

    Raises:
        BadInventory: it is no Parquet, or has other columns.
    """
    with open_read(location) as stream:
        try:
            with pq.ParquetFile(stream) as file:
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
    """Compare columns by name and type; columns of a later minor version are passed over.

    Raises:
        BadInventory: the first column that is missing or of another type.
    """
    for field in expected:
        at = found.get_field_index(field.name)
        has = "no such column" if at < 0 else found.field(at).type
        if has != field.type:
            raise BadInventory(
                where=where, expected=f"the column {field.name} of type {field.type}", found=has
            )


def read_batches(location: Location) -> Iterator[pa.RecordBatch]:
    """The rows of an inventory, a row group's worth at a time."""
    with open_inventory(location) as file:
        names = INVENTORY.names
        yield from file.iter_batches(ROWS_PER_GROUP, columns=names, use_threads=False)


def read_rows(location: Location, first: int, rows: int) -> list[Row]:
    """Rows *first* … *first + rows* - 1, reading no row group that holds none of them."""
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
