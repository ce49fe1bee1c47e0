"""The inventory: one Parquet row a recording, sorted by path, and the digest of what was listed."""

from __future__ import annotations

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
"""A unit reads the row groups that hold its rows, so a group is small against a unit."""

MOST_LABELS = 100_000
LISTED = ("path", "size", "modified_ns")
LABELLED = ("path", "label", "target", "group")

Row = dict[str, Any]


@dataclass(frozen=True)
class Written:
    """What was written.

    Attributes:
        stats: the counts of the rows.
        listing: the digest of what was listed, however labelled.
        labels: the digest of what is said of each recording.
    """

    stats: RecordingsStats
    listing: str
    labels: str


def write_inventory(sink: Any, batches: Iterable[pa.RecordBatch], where: object) -> Written:
    """Write batches of `ROWS`, in the order of their paths, in row groups of `ROWS_PER_GROUP`.

    Raises:
        BadData: there are more labels than a manifest holds.
    """
    counts, listing, labels = Counts(), RowDigest(LISTED), RowDigest(LABELLED)
    with table_writer(sink, INVENTORY) as writer:
        for rows in in_groups(batches, ROWS_PER_GROUP):
            group = _as_inventory(rows)
            writer.write_table(group, row_group_size=ROWS_PER_GROUP)
            for batch in group.to_batches():
                counts.add(batch)
                listing.add(batch)
                labels.add(batch)
            if len(counts.labels) > MOST_LABELS:
                raise BadData(
                    "too many labels",
                    where=where,
                    expected=f"at most {MOST_LABELS} different labels",
                    found=f"more, such as {next(iter(counts.labels))}",
                    hint="Is the label rather a group, or a target?",
                )
    return Written(counts.stats(), listing.hexdigest(), labels.hexdigest())


def _as_inventory(rows: pa.Table) -> pa.Table:
    columns = [
        rows.column(field.name)
        if field.name in rows.schema.names
        else pa.nulls(rows.num_rows, field.type)
        for field in INVENTORY
    ]
    return pa.Table.from_arrays(columns, schema=INVENTORY)


class RowDigest:
    """SHA-256 over some columns of all rows: a line of canonical JSON for each.

    Written out here and not by `canonical_bytes`, which would take a minute for ten million rows.
    """

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = columns
        self._digest = hashlib.sha256()

    def add(self, batch: pa.RecordBatch) -> None:
        """Go on with these rows."""
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


class Counts:
    """The stats of an inventory, summed batch by batch."""

    def __init__(self) -> None:
        self.recordings = self.bytes = self.labelled = self.grouped = 0
        self.labels: Counter[str] = Counter()

    def add(self, batch: pa.RecordBatch) -> None:
        """Count a batch."""
        self.recordings += batch.num_rows
        self.bytes += pc.sum(batch.column("size")).as_py() or 0
        nameless = pc.and_(pc.is_null(batch.column("label")), pc.is_null(batch.column("target")))
        self.labelled += batch.num_rows - (pc.sum(nameless).as_py() or 0)
        self.grouped += batch.num_rows - batch.column("group").null_count
        for each in pc.value_counts(batch.column("label").drop_null()).to_pylist():
            self.labels[each["values"]] += each["counts"]

    def stats(self) -> RecordingsStats:
        """What the manifest says."""
        return RecordingsStats(
            recordings=self.recordings,
            bytes=self.bytes,
            labelled=self.labelled,
            grouped=self.grouped,
            labels=dict(sorted(self.labels.items())),
        )


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
            with pq.ParquetFile(stream, pre_buffer=False) as file:  # not all of it ahead
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
