"""The first pass over the payload: every features file becomes one segment file.

A segment file holds the finished records of one features file, sorted by shard and position, so
that what a shard needs of it lies in one place. It is written in runs of bounded size, one after
another, each followed by its entries and by a table of where each shard begins::

    run:   records …   entries (`ENTRY`, one a record)   starts (one a shard, and the end)

A file for each (features file, shard) would be millions of small files; this is one for each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
from audioloom_manifest import Receipt
from audioloom_storage import Location, open_read
from numpy.typing import NDArray

from audioloom_sharder.assignment import place
from audioloom_sharder.errors import DamagedRecord
from audioloom_sharder.example import encode
from audioloom_sharder.features import read_windows, values_of
from audioloom_sharder.filters import take
from audioloom_sharder.keying import Keyed, Ranked, ranks_of
from audioloom_sharder.layout import Layout
from audioloom_sharder.rows import group_of, record_of, rows_of
from audioloom_sharder.tfrecord import HEADER_BYTES, frame
from audioloom_sharder.work import Job, finish, unit_name, write_work

__all__ = ["ENTRY", "Run", "make_segment", "read_entries", "runs_of"]

ENTRY = np.dtype(
    [("position", "<u8"), ("offset", "<u8"), ("length", "<u4"), ("values", "<u4"), ("label", "<i4")]
)
"""A record in a segment: position in its shard; byte offset and length, framing included; where
its values begin within it; its label's number."""

_START = np.dtype("<u4")
#: Payload held in memory before it is sorted and written.
_RUN_BYTES = 64 << 20


@dataclass(frozen=True)
class Run:
    """One run of a segment file: where its entries and its table of shards lie."""

    path: str
    entries: int
    starts: int


@dataclass(frozen=True)
class _Encoded:
    """A record on its way: its place, and its bytes in the file."""

    shard: int
    position: int
    record: bytes
    values: int
    label: int


def runs_of(receipt: Receipt) -> list[Run]:
    """The runs of a segment, as the receipt of `make_segment` tells."""
    path = receipt.files[0].path
    return [Run(path, entries, starts) for entries, starts in receipt.counts["runs"]]


def make_segment(
    job: Job, layout: Layout, keyed: Keyed, ranked: Sequence[Ranked], number: int
) -> Receipt:
    """The unit of the first pass: encode features file *number*."""
    unit = unit_name(job, "segments", number)
    runs: list[tuple[int, int]] = []
    encoded = _encode(job, layout, keyed, ranked, number)
    entry = write_work(job, unit, _runs(encoded, layout.shards, runs))
    return finish(job, unit, entry, {"runs": runs})


def read_entries(
    folder: Location, run: Run, shards: range
) -> tuple[NDArray[np.int64], NDArray[np.void]]:
    """What a run holds of consecutive *shards* (numbers in the run): shard and entry of each."""
    with open_read(folder / run.path) as stream:
        stream.seek(run.starts + shards.start * _START.itemsize)
        starts = _take(stream.read((len(shards) + 1) * _START.itemsize), _START, len(shards) + 1)
        begin, end = int(starts[0]), int(starts[-1])
        stream.seek(run.entries + begin * ENTRY.itemsize)
        entries = _take(stream.read((end - begin) * ENTRY.itemsize), ENTRY, end - begin)
    counts = starts[1:] - starts[:-1]
    return np.repeat(np.arange(shards.start, shards.stop), counts), entries


def _take(data: bytes, dtype: np.dtype[Any], count: int) -> NDArray[Any]:
    if len(data) != count * dtype.itemsize:
        raise DamagedRecord(
            expected=f"{count * dtype.itemsize} bytes of a segment's table",
            found=len(data),
            hint="Remove the run's work/ folder and run again.",
        )
    return np.frombuffer(data, dtype=dtype)


def _encode(
    job: Job, layout: Layout, keyed: Keyed, ranked: Sequence[Ranked], number: int
) -> Iterator[_Encoded]:
    rules = job.rules
    places = ranks_of(job, keyed, ranked, number)
    counts = np.array([split.shards for split in layout.splits])
    firsts = np.array([split.first for split in layout.splits])
    found = place(places["rank"], counts[places["split"]])
    shards = (found.shard + firsts[places["split"]]).tolist()
    positions = found.position.tolist()
    ids = {label: index for index, label in enumerate(layout.labels)}
    for first, batch in read_windows(job.sources[number], rules.feature):
        values = values_of(batch, rules.feature)
        taken, _ = take(batch, rules.filters, rules.feature.sample_rate)
        for index, row in compress(enumerate(rows_of(batch)), taken.tolist()):
            label = ids[row.label] if row.label else -1
            window = values[index * rules.values : (index + 1) * rules.values]
            record = record_of(row, group_of(row, rules), label, window, rules)
            payload, offset = encode(record, rules.encoding)
            at = first + index
            yield _Encoded(shards[at], positions[at], frame(payload), offset + HEADER_BYTES, label)


def _runs(encoded: Iterator[_Encoded], shards: int, runs: list[tuple[int, int]]) -> Iterator[bytes]:
    """The bytes of a segment file; where each run's tables begin is put into *runs*."""
    offset = 0
    for run in _batches(encoded):
        run.sort(key=lambda one: (one.shard, one.position))
        lengths = np.array([len(one.record) for one in run])
        entries = np.empty(len(run), dtype=ENTRY)
        entries["position"] = [one.position for one in run]
        entries["offset"] = offset + np.cumsum(lengths) - lengths
        entries["length"] = lengths
        entries["values"] = [one.values for one in run]
        entries["label"] = [one.label for one in run]
        numbers = np.array([one.shard for one in run])
        starts = np.searchsorted(numbers, np.arange(shards + 1)).astype(_START)
        yield from (one.record for one in run)
        offset += int(lengths.sum())
        runs.append((offset, offset + entries.nbytes))
        offset += entries.nbytes + starts.nbytes
        yield entries.tobytes()
        yield starts.tobytes()


def _batches(encoded: Iterator[_Encoded]) -> Iterator[list[_Encoded]]:
    batch: list[_Encoded] = []
    size = 0
    for one in encoded:
        batch.append(one)
        size += len(one.record)
        if size >= _RUN_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
