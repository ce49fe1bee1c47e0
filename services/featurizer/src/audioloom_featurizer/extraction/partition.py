"""Cut the inventory into units: consecutive rows, limited by bytes and by number.

A unit's id is the digest of its rows, so it does not depend on Spark or the time of the run.
"""

import hashlib
import heapq
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from audioloom_manifest.canonical import canonical_bytes
from audioloom_manifest.envelope import FileEntry
from audioloom_manifest.parquet import table_writer
from audioloom_storage import AlreadyExists, Location, make_folder, publish, read_bytes

from audioloom_featurizer.containers.formats import read_in_sequence
from audioloom_featurizer.errors import BadInventory
from audioloom_featurizer.inventory.paths import file_of

FILE = "units.parquet"
ROLE = "units"
ID_DIGITS = 16
MOST_BYTES = 1 << 30
MOST_LARGEST = 3
"""Each costs a question to the NameNode, and a few large ones hold most of the bytes."""

MOST_RECORDINGS = 1000
FEWEST_RECORDINGS = 20
AIMED_UNITS = 32

_COLUMNS = {"unit": pa.string(), "first": pa.int64(), "recordings": pa.int64(), "bytes": pa.int64()}
SCHEMA = pa.schema([pa.field(name, kind, nullable=False) for name, kind in _COLUMNS.items()])


@dataclass(frozen=True)
class Unit:
    """Rows `first` … `first + recordings - 1` of the inventory.

    Attributes:
        id: 16 hex digits of the digest of the rows.
        first: number of the unit's first row.
        recordings: number of rows.
        bytes: total size of the recordings.
        largest: the files that hold the largest recordings, which decide on which node
            the unit runs; not in `units.parquet`.
    """

    id: str
    first: int
    recordings: int
    bytes: int
    largest: tuple[Location, ...] = field(default=(), compare=False)

    @classmethod
    def of(cls, first: int, rows: Sequence[Mapping[str, Any]], source: Location) -> "Unit":
        """Make the unit of these rows; *first* is the number of the first."""
        largest = heapq.nlargest(MOST_LARGEST, rows, key=itemgetter("size"))
        size = sum(row["size"] for row in rows)
        files = tuple(file_of(source, row["path"], row["member"]) for row in largest)
        return cls(unit_id(rows), first, len(rows), size, files)


def default_recordings(recordings: int) -> int:
    """Default recordings per unit: a small set makes about 32 units, a large set units of 1000."""
    return min(MOST_RECORDINGS, max(FEWEST_RECORDINGS, -(-recordings // AIMED_UNITS)))


def partition(
    rows: Iterable[Mapping[str, Any]],
    source: Location,
    *,
    most_bytes: int,
    most_recordings: int,
) -> Iterator[Unit]:
    """Cut rows into units within the limits; a unit holds at least one row, of whatever size.

    The members of a container that is read in sequence stay together, so it is read once.
    """
    first, size = 0, 0
    held: list[Mapping[str, Any]] = []
    for row in rows:
        full = len(held) >= most_recordings or size + row["size"] > most_bytes
        if held and full and not _read_together(held[-1], row, source):
            yield Unit.of(first, held, source)
            first, size, held = first + len(held), 0, []
        held.append(row)
        size += row["size"]
    if held:
        yield Unit.of(first, held, source)


def _read_together(row: Mapping[str, Any], other: Mapping[str, Any], source: Location) -> bool:
    if None in (row["member"], other["member"]):
        return False
    file, another = (file_of(source, each["path"], each["member"]) for each in (row, other))
    return file == another and read_in_sequence(file.name, row["offset"])


def unit_id(rows: Iterable[Mapping[str, Any]]) -> str:
    """The id of the unit of these rows."""
    digest = hashlib.sha256()
    for row in rows:
        digest.update(canonical_bytes(dict(row)) + b"\n")
    return digest.hexdigest()[:ID_DIGITS]


def receipt_name(unit: Unit, basis: str) -> str:
    """The name of a unit's receipt; *basis* keeps apart two recipes under one run name."""
    return f"{unit.id}-{basis}"


def commit_units(folder: Location, units: list[Unit]) -> FileEntry:
    """Write `units.parquet` into the run folder before any work, unless an equal file exists.

    Raises:
        BadInventory: a different `units.parquet` exists.
    """
    rows = [{"unit": unit.id, **vars(unit)} for unit in units]
    out = io.BytesIO()
    with table_writer(out, SCHEMA) as writer:
        writer.write_table(pa.Table.from_pylist(rows, schema=SCHEMA))
    data = out.getvalue()
    where = folder / FILE
    make_folder(folder)
    try:
        publish(where, data)
    except AlreadyExists:
        data = read_bytes(where, limit=MOST_BYTES)
        if parse_units(data, where) != units:
            raise BadInventory(
                where=where,
                expected="the units of this inventory",
                found="others",
                hint="The file was changed: remove the unfinished run folder and run again.",
            ) from None
    sha256 = hashlib.sha256(data).hexdigest()
    return FileEntry(path=FILE, bytes=len(data), sha256=sha256, role=ROLE, records=len(units))


def parse_units(data: bytes, where: object) -> list[Unit]:
    """Read `units.parquet`.

    Raises:
        BadInventory: the data is not a units file.
    """
    try:
        table = pq.read_table(io.BytesIO(data), use_threads=False)
        return [Unit(*row.values()) for row in table.select(SCHEMA.names).to_pylist()]
    except (pa.ArrowException, KeyError, TypeError) as error:
        raise BadInventory(
            where=where, expected="a Parquet file of units", found=str(error)[:300]
        ) from error
