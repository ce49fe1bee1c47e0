"""External sort: sorted runs on local disk, merged as a stream.

Keys are text and are compared by their UTF-8 bytes, as in Arrow and Python. Memory holds one run
while it is sorted, then a batch of each run: ten million recordings make about twenty runs.
"""

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from typing import IO

import pyarrow as pa

RUN_BYTES = 48 << 20
BATCH_ROWS = 8192

_CODEC = "lz4"


def sorted_batches(batches: Iterable[pa.RecordBatch], key: str) -> Iterator[pa.RecordBatch]:
    """Sort all rows by the text column *key*; rows with equal keys come in any order.

    Args:
        batches: batches of one schema; a few of them must fit into memory.
        key: a text column without nulls.
    """
    with tempfile.TemporaryFile(prefix="audioloom-featurizer-") as file:
        runs: list[_Run] = []
        held: list[pa.RecordBatch] = []
        size = 0
        for batch in batches:
            if not batch.num_rows:
                continue
            held.append(batch)
            size += batch.nbytes
            if size >= RUN_BYTES:
                runs.append(_Run(file, _sort(held, key)))
                held, size = [], 0
        if held and not runs:
            yield from _cut(_sort(held, key))
            return
        if held:
            runs.append(_Run(file, _sort(held, key)))
        held = []
        yield from merge([iter(run) for run in runs], key)


def merge(streams: Sequence[Iterator[pa.RecordBatch]], key: str) -> Iterator[pa.RecordBatch]:
    """Merge streams that are each in the order of *key*.

    To avoid work per row, all rows up to the smallest last key of the current batches are sorted
    together.
    """
    heads = [head for stream in streams if (head := _Head(stream, key)).batch is not None]
    while heads:
        bound = min(head.last for head in heads)
        pieces = [piece for head in heads for piece in head.take(bound)]
        heads = [head for head in heads if head.batch is not None]
        if len(pieces) == 1:
            yield pieces[0]
        else:
            yield from _cut(_sort(pieces, key))


def count_up_to(column: pa.StringArray, bound: str) -> int:
    """Count the keys of a sorted column that are at most *bound*."""
    low, high = 0, len(column)
    while low < high:
        middle = (low + high) // 2
        if column[middle].as_py() <= bound:
            low = middle + 1
        else:
            high = middle
    return low


class _Run:
    """A sorted run: compressed batches at known offsets of an unnamed file."""

    def __init__(self, file: IO[bytes], rows: pa.RecordBatch) -> None:
        self._file = file
        self._schema = rows.schema
        self._places: list[tuple[int, int, int]] = []
        file.seek(0, os.SEEK_END)
        for batch in _cut(rows):
            whole = batch.serialize()
            packed = pa.compress(whole, codec=_CODEC)
            self._places.append((file.tell(), len(packed), whole.size))
            file.write(packed)
        file.flush()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for offset, size, whole in self._places:
            packed = os.pread(self._file.fileno(), size, offset)
            data = pa.decompress(packed, decompressed_size=whole, codec=_CODEC)
            yield pa.ipc.read_record_batch(data, self._schema)


class _Head:
    def __init__(self, stream: Iterator[pa.RecordBatch], key: str) -> None:
        self._stream = stream
        self._key = key
        self.batch: pa.RecordBatch | None = None
        self._next()

    def _next(self) -> None:
        self.batch = next((batch for batch in self._stream if batch.num_rows), None)
        if self.batch is not None:
            self._measure(self.batch)

    def _measure(self, batch: pa.RecordBatch) -> None:
        keys = batch.column(self._key)
        self._first, self.last = keys[0].as_py(), keys[len(keys) - 1].as_py()

    def take(self, bound: str) -> Iterator[pa.RecordBatch]:
        """Take all rows up to *bound*, which is at most the last key of the current batch."""
        while self.batch is not None and self._first <= bound:
            count = count_up_to(self.batch.column(self._key), bound)
            yield self.batch.slice(0, count)
            if count < self.batch.num_rows:
                self.batch = self.batch.slice(count)
                self._measure(self.batch)
                return
            self._next()


def _sort(batches: Sequence[pa.RecordBatch], key: str) -> pa.RecordBatch:
    whole = pa.Table.from_batches(batches).combine_chunks().to_batches()[0]
    return whole.sort_by(key)


def _cut(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    for first in range(0, batch.num_rows, BATCH_ROWS):
        yield batch.slice(first, BATCH_ROWS)
