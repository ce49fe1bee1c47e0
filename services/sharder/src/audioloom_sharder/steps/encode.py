"""Encode the payload: every features file becomes one segment file.

A segment file holds the finished records of one features file, sorted by shard and position, so
consecutive shards need one ranged read of each segment. Entries, a table of the shards' first
entries and the sums of the coefficients follow the records::

    records …   entries (`ENTRY`, one a record)   starts (one a shard, and the end)   sums

One file for each pair of features file and shard would mean millions of small files.
"""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import compress
from typing import BinaryIO

import numpy as np
from audioloom_manifest.errors import RecordError
from audioloom_manifest.receipts import Receipt
from audioloom_manifest.records.example import around
from audioloom_manifest.records.index import FOOTER_BYTES, HEADER_BYTES
from audioloom_manifest.records.tfrecord import OVERHEAD_BYTES, check, frame, frame_into
from numpy.typing import NDArray

from audioloom_sharder.errors import DamagedRecord
from audioloom_sharder.inputs.reader import read_windows, values_of
from audioloom_sharder.inputs.rows import group_of, rows_of
from audioloom_sharder.io.buffers import buffer
from audioloom_sharder.rules import Rules
from audioloom_sharder.sharding.assignment import place
from audioloom_sharder.sharding.layout import Layout
from audioloom_sharder.statistics import SUMS_BY_SPLIT, CoefficientSums, added, window_sums
from audioloom_sharder.steps.decide_splits import SourceUnit
from audioloom_sharder.steps.job import (
    DAMAGED_HINT,
    SEGMENTS,
    Job,
    StoredArray,
    publish_unit,
)
from audioloom_sharder.steps.payload import WINDOW_BYTES, Payload
from audioloom_sharder.steps.rank import ranks_of
from audioloom_sharder.windows.selection import record_of

ENTRY = np.dtype(
    [("position", "<u8"), ("offset", "<u8"), ("length", "<u4"), ("values", "<u4"), ("label", "<i4")]
)
"""A record in a segment: position in its shard; byte offset and length, framing included; where
its values begin within it; its label's number."""

# Segments are as large as the shards. Like the files of a Spark shuffle they have one copy on HDFS,
# and a lost one is made again (`made_again_if_lost`). A file with one copy takes half a second to
# close, so small ones have as many as other files.
ONE_COPY_BYTES = 64 << 20

_START = np.dtype("<u4")


@dataclass(frozen=True, kw_only=True)
class SegmentUnit(SourceUnit):
    """A features file with the place of its records in its scan file."""

    records: StoredArray


def make_segment(job: Job, layout: Layout, ranks: StoredArray, unit: SegmentUnit) -> Receipt:
    """Encode a features file: a unit of the third step."""
    places = ranks_of(job, ranks, unit.number, unit.records)
    with buffer(WINDOW_BYTES) as room, closing(Payload(room)) as payload:
        shard, entries, sums = _encode(job.rules, layout, unit, places, payload)
        order = np.lexsort((entries["position"], shard))
        entries = entries[order]
        starts = np.searchsorted(shard[order], np.arange(layout.shards + 1)).astype(_START)
        size = int(entries["length"].sum(dtype=np.int64))
        framed = frame(SUMS_BY_SPLIT.dump_json(sums))
        sizes = [size, entries.nbytes, starts.nbytes, len(framed)]
        counts = {"offsets": np.cumsum([0, *sizes]).tolist()}
        chunks = _chunks(payload, entries, starts, framed)
        copies = 1 if size >= ONE_COPY_BYTES else None
        return publish_unit(job, SEGMENTS, unit.number, chunks, counts, replication=copies)


def read_entries(
    stream: BinaryIO, entries: StoredArray, starts: StoredArray, shards: range
) -> tuple[NDArray[np.int64], NDArray[np.void]]:
    """Read the shard and the entry of each record of consecutive *shards* in a segment."""
    edges = starts.read(_START, shards.start, shards.stop + 1, stream)
    found = entries.read(ENTRY, int(edges[0]), int(edges[-1]), stream)
    return np.repeat(np.arange(shards.start, shards.stop), np.diff(edges)), found


def read_sums(stream: BinaryIO, sums: StoredArray) -> list[CoefficientSums]:
    """Read the sums of the coefficients of a segment's records, by split.

    Raises:
        DamagedRecord: their checksum is another.
    """
    framed = sums.read(np.dtype(np.uint8), stream=stream)
    try:
        check(framed)
    except RecordError as error:
        raise DamagedRecord(str(error), where=sums.location, hint=DAMAGED_HINT) from error
    return SUMS_BY_SPLIT.validate_json(framed[HEADER_BYTES:-FOOTER_BYTES].tobytes())


def _encode(
    rules: Rules, layout: Layout, unit: SourceUnit, places: NDArray[np.void], payload: Payload
) -> tuple[NDArray[np.int64], NDArray[np.void], list[CoefficientSums]]:
    """Add the records of a features file to the payload.

    Return their shards, their entries there, and the sums of their coefficients by split.
    """
    size = rules.window_bytes
    counts = np.array([split.shards for split in layout.splits])
    firsts = np.array([split.first for split in layout.splits])
    shard, position = place(places["rank"], counts[places["split"]])
    shard += firsts[places["split"]]
    entries = np.empty(len(places), ENTRY)
    entries["position"] = position
    sources = places["row"].astype(np.int64)
    ids = {label: index for index, label in enumerate(layout.labels)}
    told: list[tuple[int, int, int, int]] = []
    sums = [CoefficientSums()] * len(layout.splits)
    for first, batch in read_windows(unit, rules.feature):
        values = values_of(batch, rules.feature)
        edges = np.searchsorted(sources, np.arange(first, first + batch.num_rows + 1))
        copies = np.diff(edges)
        taken = np.flatnonzero(copies)
        windows = np.frombuffer(values, rules.dtype).reshape(-1, *rules.feature.shape)
        some = windows if len(taken) == len(windows) else windows[taken]
        summed = window_sums(some, where=unit.location)
        splits = places["split"][edges[taken]]  # all copies of a window are in one split
        for split in np.unique(splits).tolist():
            mine = splits == split
            sums[split] += added(summed[:, mine], copies[taken[mine]], rules.feature)
        for index, row in compress(enumerate(rows_of(batch)), copies.tolist()):
            label = ids[row.label] if row.label else -1
            window = values[index * size : (index + 1) * size]
            record = record_of(row, group_of(row, rules), label, window, rules)
            before, after = around(record, size, rules.stored)
            length = len(before) + size + len(after) + OVERHEAD_BYTES
            times = int(copies[index])
            for _ in range(times):
                frame_into(payload.reserve(length), (before, window, after))
            told.append((length, HEADER_BYTES + len(before), label, times))
    table = np.array(told, np.int64).reshape(-1, 4)
    lengths, begins, labels, _ = np.repeat(table, table[:, 3], axis=0).T
    entries["offset"] = np.cumsum(lengths) - lengths
    entries["length"], entries["values"], entries["label"] = lengths, begins, labels
    return shard, entries, sums


def _chunks(
    payload: Payload, entries: NDArray[np.void], starts: NDArray[np.uint32], sums: bytes
) -> Iterator[tuple[memoryview, memoryview]]:
    """Yield the bytes of a segment file and their part in its digest (`publish_unit`)."""
    lengths = entries["length"].astype(np.int64)
    places = entries["offset"].astype(np.int64)
    for part in payload.slices(lengths):
        room, found = payload.load(places[part], lengths[part])
        for begin, length in zip(found.tolist(), lengths[part].tolist(), strict=True):
            record = room[begin : begin + length].data
            yield record, record[-FOOTER_BYTES:]
    entries["offset"] = np.cumsum(lengths) - lengths
    for each in (entries.tobytes(), starts.tobytes(), sums):
        table = memoryview(each)
        yield table, table
