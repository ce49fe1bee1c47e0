"""Cut the inventory into units: consecutive rows, limited by bytes and by number.

The size of units is chosen so that a set has few features files and none is very large: the cost of
the sharder grows with their number. A small set is cut for the cores of one machine, a large one
into at most `MOST_UNITS` units, unless their files would be too large.

A unit's id is the digest of its rows, so it does not depend on Spark or the time of the run. Rows
are cut and digested column by column: at ten million rows, a loop over them takes minutes.
"""

import hashlib
import io
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from audioloom_audio import ExtractionSettings
from audioloom_manifest.envelope import FileEntry
from audioloom_manifest.parquet import INVENTORY, table_writer
from audioloom_storage import AlreadyExists, Location, make_folder, publish, read_bytes
from numpy.typing import NDArray

from audioloom_featurizer.containers.formats import read_in_sequence
from audioloom_featurizer.errors import BadInventory
from audioloom_featurizer.inventory.paths import file_of

FILE = "units.parquet"
ROLE = "units"
ID_DIGITS = 16
MOST_BYTES = 1 << 30
MOST_LARGEST = 3
"""Each costs a question to the NameNode, and a few large ones hold most of the bytes."""

FILE_BYTES = 512 << 20
"""Aimed at for the features file of a unit in a large set."""

SMALL_BYTES, SMALL_RECORDINGS = 256 << 20, 1000
"""Units of a set that is too small for larger ones."""

FEWEST_RECORDINGS = 20
AIMED_UNITS = 32
MOST_UNITS = 2000
_SAMPLE_BYTES = 2

_COLUMNS = {"unit": pa.string(), "first": pa.int64(), "recordings": pa.int64(), "bytes": pa.int64()}
SCHEMA = pa.schema([pa.field(name, kind, nullable=False) for name, kind in _COLUMNS.items()])


@dataclass(frozen=True)
class UnitBounds:
    """The most bytes of recordings, and the most recordings, in a unit."""

    bytes: int
    recordings: int


def expected_windows(settings: ExtractionSettings, recordings: int, size: int) -> int:
    """The windows of recordings with *size* bytes together, as nobody knows before they are opened.

    With all windows, 16-bit samples of the settings' rate are assumed.
    """
    signals = 2 if settings.channels == "split" else 1
    if settings.windows == "first":
        return recordings * signals
    return max(recordings * signals, size // (settings.hop_samples * _SAMPLE_BYTES))


def window_bytes(settings: ExtractionSettings) -> int:
    """The bytes of the feature of one window."""
    return math.prod(settings.shape) * np.dtype(settings.dtype).itemsize


def default_bounds(settings: ExtractionSettings, recordings: int, size: int) -> UnitBounds:
    """The bounds for a set of *recordings* with *size* bytes together.

    A unit of recordings with more windows than `expected_windows` writes several files.
    """
    signals = 2 if settings.channels == "split" else 1
    most_windows = max(1, FILE_BYTES // (window_bytes(settings) * signals))
    aimed = min(SMALL_RECORDINGS, max(FEWEST_RECORDINGS, -(-recordings // AIMED_UNITS)))
    most_bytes = max(SMALL_BYTES, -(-size // MOST_UNITS))
    if settings.windows == "all":
        hop = settings.hop_samples * _SAMPLE_BYTES * signals
        most_bytes = max(1, min(most_bytes, most_windows * hop))
    most_recordings = min(most_windows, max(aimed, -(-recordings // MOST_UNITS)))
    return UnitBounds(most_bytes, most_recordings)


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
    def of(cls, first: int, rows: pa.Table, source: Location) -> "Unit":
        """Make the unit of these rows; *first* is the number of the first."""
        sizes = rows["size"].to_numpy()
        largest = rows.take(np.argsort(-sizes, kind="stable")[:MOST_LARGEST])
        pairs = zip(largest["path"].to_pylist(), largest["member"].to_pylist(), strict=True)
        files = tuple(file_of(source, path, member) for path, member in pairs)
        return cls(unit_id(rows), first, len(rows), int(sizes.sum()), files)


def partition(
    batches: Iterable[pa.RecordBatch],
    source: Location,
    *,
    most_bytes: int,
    most_recordings: int,
) -> Iterator[Unit]:
    """Cut the rows of an inventory into units within the limits; each has at least one row.

    The members of a container that is read in sequence stay together, so it is read once. Memory
    holds a batch and a unit.
    """
    first, held = 0, INVENTORY.empty_table()
    starts, file = np.empty(0, np.bool_), None
    for batch in batches:
        held = pa.concat_tables([held, pa.Table.from_batches([batch])])
        more, file = _starts(batch, source, file)
        starts, begin = np.concatenate([starts, more]), 0
        for end in _ends(held["size"].to_numpy(), starts, most_bytes, most_recordings):
            yield Unit.of(first, held.slice(begin, end - begin), source)
            first, begin = first + end - begin, end
        held, starts = held.slice(begin), starts[begin:]
    if len(held):
        yield Unit.of(first, held, source)


def _ends(
    sizes: NDArray[np.int64], starts: NDArray[np.bool_], most_bytes: int, most_recordings: int
) -> Iterator[int]:
    """Yield where full units end; the rows behind the last end may be joined by others."""
    total, places = np.cumsum(sizes), np.flatnonzero(starts)
    begin = before = 0
    while True:
        full = int(np.searchsorted(total, before + most_bytes, "right"))
        place = np.searchsorted(places, max(begin + 1, min(begin + most_recordings, full)))
        if place == len(places):
            return
        begin = int(places[place])
        before = int(total[begin - 1])
        yield begin


def _starts(
    rows: pa.RecordBatch, source: Location, before: Location | None
) -> tuple[NDArray[np.bool_], Location | None]:
    """Mark the rows that a unit may begin with; return the container of the last row.

    *before* is the container of the row before.
    """
    starts = np.ones(len(rows), np.bool_)
    if rows.column("member").null_count == len(rows):
        return starts, None
    columns = (rows.column(name).to_pylist() for name in ("path", "member", "offset"))
    for number, (path, member, offset) in enumerate(zip(*columns, strict=True)):
        file = None if member is None else file_of(source, path, member)
        if file is not None and file == before:
            starts[number] = not read_in_sequence(file.name, offset)
        before = file
    return starts, before


def unit_id(rows: pa.Table | pa.RecordBatch) -> str:
    """The id of the unit of these rows of an inventory: a digest over one column after another."""
    digest = hashlib.sha256()
    for name in INVENTORY.names:
        column = rows.column(name)
        values = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        digest.update(f"{name} {len(values)}".encode())
        digest.update(values.is_valid().to_numpy(zero_copy_only=False))
        if pa.types.is_string(values.type):
            digest.update(pc.fill_null(pc.binary_length(values), 0).to_numpy())
            digest.update("".join(values.drop_null().to_pylist()).encode())
        else:
            digest.update(pc.fill_null(values, 0).to_numpy())
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
    """Read `units.parquet`; raise `BadInventory` if the data is no such file."""
    try:
        table = pq.read_table(io.BytesIO(data), use_threads=False)
        return [Unit(*row.values()) for row in table.select(SCHEMA.names).to_pylist()]
    except (pa.ArrowException, KeyError, TypeError) as error:
        raise BadInventory(
            where=where, expected="a Parquet file of units", found=str(error)[:300]
        ) from error
