"""Encode the payload: every features file becomes one segment file.

A segment file consists of runs of bounded size. A run holds finished records of one features file,
sorted by shard and position, so consecutive shards need one ranged read of each run. Entries and a
table of the shards' first entries follow the records::

    run:   records …   entries (`ENTRY`, one a record)   starts (one a shard, and the end)

One file for each pair of features file and shard would mean millions of small files.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import compress, pairwise
from typing import BinaryIO, NamedTuple

import numpy as np
from audioloom_manifest.receipts import Receipt
from audioloom_manifest.records.example import around
from audioloom_manifest.records.index import FOOTER_BYTES, HEADER_BYTES
from audioloom_manifest.records.tfrecord import OVERHEAD_BYTES, frame_into
from audioloom_storage import Location
from numpy.typing import NDArray

from audioloom_sharder.inputs.reader import read_windows, values_of
from audioloom_sharder.inputs.window import group_of, rows_of
from audioloom_sharder.io.buffers import buffer
from audioloom_sharder.rules import Rules
from audioloom_sharder.sharding.assignment import place
from audioloom_sharder.sharding.layout import Layout
from audioloom_sharder.steps.decide_splits import SourceUnit
from audioloom_sharder.steps.job import (
    SEGMENTS,
    Job,
    StoredArray,
    publish_table,
    publish_unit,
    read_items,
    stored,
)
from audioloom_sharder.steps.rank import ranks_of
from audioloom_sharder.windows.record import record_of

ENTRY = np.dtype(
    [("position", "<u8"), ("offset", "<u8"), ("length", "<u4"), ("values", "<u4"), ("label", "<i4")]
)
"""A record in a segment: position in its shard; byte offset and length, framing included; where
its values begin within it; its label's number."""

_START = np.dtype("<u4")
_RUNS = np.dtype([("path", "S64"), ("entries", "<i8"), ("starts", "<i8")])
#: Payload held in memory before it is written in order.
RUN_BYTES = 256 << 20


class Run(NamedTuple):
    """One run of a segment file: the places of its entries and its table of shards."""

    path: str
    entries: int
    starts: int


class _Packed(NamedTuple):
    """Finished records in memory, with their shards and entries; offsets count from the first."""

    data: NDArray[np.uint8]
    shard: NDArray[np.int64]
    entries: NDArray[np.void]


class SegmentUnit(NamedTuple):
    """A features file with the places of its records and of their ranks, range by range."""

    source: SourceUnit
    records: StoredArray
    ranks: tuple[StoredArray, ...]

    @property
    def location(self) -> Location:
        """The location of the features file."""
        return self.source.location


def segment_units(
    job: Job, units: Sequence[SourceUnit], scanned: Sequence[Receipt], ranked: Sequence[Receipt]
) -> list[SegmentUnit]:
    """Return one unit for each features file."""
    return [
        SegmentUnit(
            unit,
            stored(job, scan, 1),
            tuple(stored(job, one, 1 + unit.number) for one in ranked),
        )
        for unit, scan in zip(units, scanned, strict=True)
    ]


def table_of_runs(job: Job, segments: Sequence[Receipt]) -> StoredArray:
    """Tell all tasks where the runs of all segments lie."""
    rows = [
        (receipt.files[0].path.encode(), *places)
        for receipt in segments
        for places in receipt.counts["runs"]
    ]
    return publish_table(job, 1, np.array(rows, _RUNS))


@lru_cache(maxsize=2)
def runs_in(table: StoredArray) -> tuple[Run, ...]:
    """Read the table of runs, once in each process."""
    rows = table.read(_RUNS).tolist()
    return tuple(Run(path.decode(), entries, starts) for path, entries, starts in rows)


def make_segment(job: Job, layout: Layout, unit: SegmentUnit) -> Receipt:
    """Encode a features file: a unit of the third step."""
    runs: list[tuple[int, int]] = []
    places, source = ranks_of(unit.records, unit.ranks), unit.source
    with buffer(RUN_BYTES) as room:
        chunks = _chunks(_pack(job.rules, layout, source, places, room), layout.shards, runs)
        return publish_unit(job, SEGMENTS, source.number, chunks, {"runs": runs})


def read_entries(
    stream: BinaryIO, where: Location, run: Run, shards: range
) -> tuple[NDArray[np.int64], NDArray[np.void]]:
    """Read the shard and the entry of each record of consecutive *shards* in a run."""
    starts = read_items(stream, where, run.starts, _START, shards.start, shards.stop + 1)
    places = int(starts[0]), int(starts[-1])
    entries = read_items(stream, where, run.entries, ENTRY, *places)
    counts = starts[1:] - starts[:-1]
    return np.repeat(np.arange(shards.start, shards.stop), counts), entries


def _pack(
    rules: Rules,
    layout: Layout,
    unit: SourceUnit,
    places: NDArray[np.void],
    room: NDArray[np.uint8],
) -> Iterator[_Packed]:
    """Encode a features file run by run; each run reuses the memory of the previous run."""
    size = rules.window_bytes
    counts = np.array([split.shards for split in layout.splits])
    firsts = np.array([split.first for split in layout.splits])
    shard, position = place(places["rank"], counts[places["split"]])
    shards, positions = (shard + firsts[places["split"]]).tolist(), position.tolist()
    sources = places["row"].astype(np.int64)
    ids = {label: index for index, label in enumerate(layout.labels)}
    table: list[tuple[int, ...]] = []
    used = 0
    for first, batch in read_windows(unit.source, rules.feature):
        values = values_of(batch, rules.feature)
        edges = np.searchsorted(sources, np.arange(first, first + batch.num_rows + 1))
        copies = [range(*pair) for pair in pairwise(edges.tolist())]
        for index, row in compress(enumerate(rows_of(batch)), copies):
            label = ids[row.label] if row.label else -1
            window = values[index * size : (index + 1) * size]
            record = record_of(row, group_of(row, rules), label, window, rules)
            before, after = around(record, size, rules.stored)
            length = len(before) + size + len(after) + OVERHEAD_BYTES
            begin = HEADER_BYTES + len(before)
            for at in copies[index]:
                if used + length > len(room):
                    if table:
                        yield _packed(room, table)
                    table, used = [], 0
                    if length > len(room):
                        room = np.empty(length, np.uint8)
                frame_into(room[used : used + length], (before, window, after))
                table.append((shards[at], positions[at], used, length, begin, label))
                used += length
    if table:
        yield _packed(room, table)


def _packed(room: NDArray[np.uint8], table: Sequence[tuple[int, ...]]) -> _Packed:
    shard, *columns = np.array(table, np.int64).T
    entries = np.empty(len(table), ENTRY)
    for name, column in zip(ENTRY.names or (), columns, strict=True):
        entries[name] = column
    return _Packed(room, shard, entries)


def _chunks(
    packed: Iterable[_Packed], shards: int, runs: list[tuple[int, int]]
) -> Iterator[tuple[memoryview, memoryview]]:
    """Yield the bytes of a segment file and their part in its digest (`publish_unit`).

    The places of each run's entries and starts are added to *runs*.
    """
    done = 0
    for run in packed:
        order = np.lexsort((run.entries["position"], run.shard))
        entries = run.entries[order]
        ends = np.cumsum(entries["length"], dtype=np.int64)
        data = run.data.data
        offsets, lengths = entries["offset"].tolist(), entries["length"].tolist()
        for offset, length in zip(offsets, lengths, strict=True):
            record = data[offset : offset + length]
            yield record, record[-FOOTER_BYTES:]
        entries["offset"] = done + ends - entries["length"]
        starts = np.searchsorted(run.shard[order], np.arange(shards + 1)).astype(_START)
        at = done + int(ends[-1])
        runs.append((at, at + entries.nbytes))
        done = at + entries.nbytes + starts.nbytes
        for each in (entries, starts):
            table = memoryview(each.tobytes())
            yield table, table
