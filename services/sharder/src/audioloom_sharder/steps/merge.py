"""Merge the segments into finished shards: some shards at once, by one read of each segment."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from audioloom_manifest.checksum import Checksums, checksums_of
from audioloom_manifest.envelope import FileEntry, Uncompressed
from audioloom_manifest.errors import RecordError
from audioloom_manifest.receipts import Receipt, publish_receipt
from audioloom_manifest.records.crc32c import joined_crc32c
from audioloom_manifest.records.index import dump
from audioloom_manifest.records.tfrecord import check
from audioloom_storage import open_read
from numpy.typing import NDArray

from audioloom_sharder.errors import DamagedRecord
from audioloom_sharder.formats.codec import encode_shard
from audioloom_sharder.formats.names import index_path, shard_path
from audioloom_sharder.io.buffers import buffer
from audioloom_sharder.sharding.layout import Layout, SplitLayout
from audioloom_sharder.statistics import COEFFICIENT_SUMS, CoefficientSums
from audioloom_sharder.steps.encode import read_entries, read_sums
from audioloom_sharder.steps.job import (
    DAMAGED_HINT,
    SEGMENTS,
    SHARDS,
    Job,
    StoredArray,
    files_in,
    made_again_if_lost,
    unit_name,
    write_named,
)
from audioloom_sharder.steps.payload import WINDOW_BYTES, Payload

SHARD_ROLE, INDEX_ROLE = "shard", "index"
MOST_COUNTED_LABELS, MOST_COUNTS_BYTES = 256, 256 << 20
"""The list of files has no counts of labels by shard if they are more labels, or would take more of
the list, which readers accept up to 1 GiB."""
_COUNT_BYTES = 12
"""A count in the list, with the signs around it and its label."""

_Segment: TypeAlias = list[StoredArray]
"""The arrays of a segment file: records, entries, starts and sums."""
_Records: TypeAlias = list[tuple[memoryview, int]]
"""Records and the CRC-32C of each."""
_Written: TypeAlias = tuple[FileEntry, Callable[[], None]]

#: Files of a unit that are written in the background while the next shards are encoded.
_WRITTEN_AT_ONCE = 16


class ShardUnit(NamedTuple):
    """Consecutive shards of one split, written by one task."""

    number: int
    split: int
    shards: range


_FIELDS = ("segment", "offset", "place", "length", "values", "label")
_ROW = np.dtype([(name, "<i8") for name in _FIELDS])
"""A record of a shard, with its offset in a segment and its place in the payload; the rows of a
shard are in order."""

_Rows: TypeAlias = NDArray[np.void]


def shard_units(layout: Layout) -> list[ShardUnit]:
    """Return the units of the last step."""
    parts = [split.units(layout.shards) for split in layout.splits]
    pairs = [(split, part) for split, some in enumerate(parts) for part in some]
    return [ShardUnit(at, *pair) for at, pair in enumerate(pairs)]


def make_shards(job: Job, layout: Layout, table: StoredArray, unit: ShardUnit) -> Receipt:
    """Write some shards with their indexes: a unit of the last step."""
    split, segments = layout.splits[unit.split], list(files_in(job, SEGMENTS, table))
    files: list[FileEntry] = []
    writes: list[Future[None]] = []
    expected = split.bytes * len(unit.shards) // split.shards
    with (
        buffer(min(WINDOW_BYTES, expected + expected // 4)) as room,
        closing(Payload(room)) as payload,
        ThreadPoolExecutor(_WRITTEN_AT_ONCE, "writing") as threads,
    ):
        rows, bounds, sums = _gather(segments, unit, split, payload)
        read = _reader(segments, rows, payload)
        for shard, part in zip(unit.shards, map(slice, bounds, bounds[1:]), strict=True):
            labels = _label_counts(rows[part], layout)
            windows = partial(read, part)
            written = _write(job, split, shard, rows[part], labels, windows)
            for entry, write in written:
                files.append(entry)
                writes.append(threads.submit(write))
                if not payload.is_in_memory:  # its records are loaded, one after another
                    writes[-1].result()
        name = unit_name(job, SHARDS, unit.number)
        counts = {"moments": COEFFICIENT_SUMS.dump_python(sums, mode="json")}
        receipt = Receipt(unit=name, attempt=job.attempt, files=tuple(files), counts=counts)

        def finish() -> None:
            for each in writes:
                each.result()

        return publish_receipt(job.folder, receipt, finish)


def _gather(
    segments: Sequence[_Segment], unit: ShardUnit, split: SplitLayout, payload: Payload
) -> tuple[_Rows, list[int], CoefficientSums]:
    """Gather the records of consecutive shards.

    Return their rows in order, each shard's start among them, and the sums of the coefficients: the
    first unit of a split gathers those of all its records.

    The records of a segment that belong to these shards lie there side by side.
    """
    shards, total = unit.shards, CoefficientSums()
    globally = range(split.first + shards.start, split.first + shards.stop)
    found, places = [], []
    for segment, table, firsts, sums in segments:
        where = segment.location
        with made_again_if_lost(where), open_read(where) as stream:
            numbers, entries = read_entries(stream, table, firsts, globally)
            lengths = entries["length"].astype(np.int64)
            starts = np.cumsum(lengths) - lengths
            if len(entries):
                begin = int(entries["offset"][0])
                starts += payload.add(stream, where, begin, int(lengths.sum()))
            if not shards.start:
                total += read_sums(stream, sums)[unit.split]
        found.append((numbers, entries))
        places.append(starts)
    shard = np.concatenate([numbers for numbers, _ in found])
    entry = np.concatenate([entries for _, entries in found])
    order = np.lexsort((entry["position"], shard))
    rows = np.empty(len(order), _ROW)
    rows["segment"] = np.repeat(np.arange(len(segments)), [len(each) for each in places])[order]
    rows["place"] = np.concatenate(places)[order]
    for name in ("offset", "length", "values", "label"):
        rows[name] = entry[name][order]
    position = entry["position"][order]
    bounds = np.searchsorted(shard[order], np.arange(globally.start, globally.stop + 1)).tolist()
    for number, (begin, end) in zip(shards, pairwise(bounds), strict=True):
        expected = split.records_in(number)
        if end - begin != expected or (position[begin:end] != np.arange(expected)).any():
            raise DamagedRecord(
                f"the segments do not fill shard {number} of {split.name}",
                expected=f"positions 0 … {expected - 1}",
                found=f"{end - begin} records",
                where=where.parent,
                hint=DAMAGED_HINT,
            )
    return rows, bounds, total


def _write(
    job: Job,
    split: SplitLayout,
    shard: int,
    rows: _Rows,
    labels: dict[str, int] | None,
    read: Callable[[], Iterator[_Records]],
) -> Iterator[_Written]:
    """Yield the files of a shard, each with the function that writes it."""
    rules, length = job.rules, int(rows["length"].sum())
    content = Checksums(["sha256"])
    crcs: list[int] = []

    def digested() -> Iterator[list[memoryview]]:
        for records in read():
            if rules.indexed:
                for record, crc in records:
                    content.update(record)
                    crcs.append(crc)
            yield [record for record, _ in records]

    held: list[bytes | memoryview] = []
    if rules.is_plain:
        deque(digested(), maxlen=0)
        size, fields = length, _fields(content, crcs, rows)
    else:
        size, checksums = 0, Checksums()
        for piece in encode_shard(rules, digested()):
            checksums.update(piece)
            size += len(piece)
            if length <= WINDOW_BYTES:
                held.append(piece)
        fields = checksums.fields()
    unpacked = _fields(content, crcs, rows) if rules.is_stream else {}
    path = shard_path(split.name, shard, fields["sha256"], rules.recipe.format)
    again = ([record for record, _ in records] for records in read())
    write = write_named(job.folder / path, held or encode_shard(rules, again), size)
    entry = FileEntry(
        path=path,
        bytes=size,
        role=SHARD_ROLE,
        records=len(rows["length"]),
        split=split.name,
        shard=shard,
        labels=labels,
        uncompressed=Uncompressed(bytes=length, **unpacked) if rules.is_stream else None,
        **fields,
    )
    yield entry, write
    if rules.indexed:
        yield _write_index(job, entry, rows)


def _fields(content: Checksums, crcs: Sequence[int], rows: _Rows) -> dict[str, Any]:
    """Return the checksums of the framed records; they have passed, but for their CRC-32C."""
    return {**content.fields(), "crc32c": f"{joined_crc32c(crcs, rows['length'].tolist()):08x}"}


def _write_index(job: Job, shard: FileEntry, rows: _Rows) -> _Written:
    """Write the index of a shard; its offsets count in the uncompressed shard."""
    path = index_path(shard.path)
    offset = np.cumsum(rows["length"]) - rows["length"]
    columns = [offset, rows["length"], offset + rows["values"], rows["label"]]
    data = dump(np.stack(columns, axis=1))
    write = write_named(job.folder / path, [data], len(data))
    changed = {
        "path": path,
        "bytes": len(data),
        "role": INDEX_ROLE,
        "labels": None,
        "uncompressed": None,
        **checksums_of(data),
    }
    return shard.model_copy(update=changed), write


def _label_counts(rows: _Rows, layout: Layout) -> dict[str, int] | None:
    """Count the records of each label; None if the counts would bloat the list of files."""
    labels = layout.labels
    size = layout.shards * sum(len(label.encode()) + _COUNT_BYTES for label in labels)
    if len(labels) > MOST_COUNTED_LABELS or size > MOST_COUNTS_BYTES:
        return None
    counts = np.bincount(rows["label"][rows["label"] >= 0], minlength=len(labels)).tolist()
    return {label: count for label, count in zip(labels, counts, strict=True) if count}


def _reader(
    segments: Sequence[_Segment], rows: _Rows, payload: Payload
) -> Callable[[slice], Iterator[_Records]]:
    """Return a function that loads rows in slices; each reuses the memory of the previous slice."""
    if payload.is_in_memory:
        all_records = _records(segments, rows, payload)
        return lambda part: iter([all_records[part]])
    return lambda part: (
        _records(segments, rows[part][each], payload)
        for each in payload.slices(rows[part]["length"])
    )


def _records(segments: Sequence[_Segment], rows: _Rows, payload: Payload) -> _Records:
    """Load *rows* and check their checksums."""
    room, places = payload.load(rows["place"], rows["length"])
    records: _Records = []
    ends = (places + rows["length"]).tolist()
    for number, (begin, end) in enumerate(zip(places.tolist(), ends, strict=True)):
        record = room[begin:end]
        try:
            crc = check(record)
        except RecordError as error:
            segment, offset = (int(rows[name][number]) for name in ("segment", "offset"))
            raise DamagedRecord(
                str(error),
                where=f"{segments[segment][0].location} at byte {offset}",
                hint=DAMAGED_HINT,
            ) from error
        records.append((record.data, crc))
    return records
