"""Read records of staged shards by their offsets, without parsing them."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from audioloom_manifest.errors import RecordError
from audioloom_manifest.records.example import value
from audioloom_manifest.records.index import FOOTER_BYTES, HEADER_BYTES
from numpy.typing import NDArray

from audioloom_trainer.errors import ShardMismatch
from audioloom_trainer.shards.index import Index

Features = NDArray[Any]
"""float32 or float16, as the shards hold them."""
Targets = NDArray[Any]
"""int32 class numbers, or float32 numbers."""

_ALIGNMENT = 64  # EIGEN_MAX_ALIGN_BYTES with AVX-512, the most there is


@dataclass(frozen=True)
class LocalShard:
    """A shard on local disk, open, with the place of the values and the target of each record."""

    path: Path
    descriptor: int
    values: NDArray[np.int64]
    targets: Targets
    """Class numbers, or numbers to learn."""

    def close(self) -> None:
        """Close the file; the shard must not be read afterwards."""
        os.close(self.descriptor)


def open_local(path: Path, index: Index, *, numbers: bool) -> LocalShard:
    """Open a verified shard; ShardMismatch if numbers are the targets and a record lacks one."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if numbers:
            targets = np.array(_numbers(descriptor, index, path), dtype=np.float32)
        else:
            targets = index.label.astype(np.int32)
    except BaseException:
        os.close(descriptor)
        raise
    return LocalShard(path, descriptor, index.values, targets)


class Records:
    """The records of open shards, found by the shard's number and the row in the shard.

    Args:
        shards: by number; at least one.
        shape, dtype: of the features of a record.
    """

    def __init__(
        self, shards: Mapping[int, LocalShard], *, shape: tuple[int, ...], dtype: str
    ) -> None:
        self._shape, self._dtype = shape, np.dtype(dtype)
        numbers = sorted(shards)
        self._shards = [shards[number] for number in numbers]
        self._numbers = np.array(numbers, dtype=np.int64)
        counts = [len(shard.values) for shard in self._shards]
        self._firsts = np.cumsum([0, *counts[:-1]])
        self._values = np.concatenate([shard.values for shard in self._shards])
        self._targets = np.concatenate([shard.targets for shard in self._shards])
        self._descriptors = np.array([shard.descriptor for shard in self._shards])

    def gather(self, rows: NDArray[np.int64]) -> tuple[Features, Targets]:
        """Read features (records, *shape) and targets (records,) of records by their *rows*.

        In *rows* stand shard number and row in the shard of each record: int64 (records, 2).

        Raises:
            ShardMismatch: a file is shorter than at its verification.
        """
        places = np.searchsorted(self._numbers, rows[:, 0])
        records = self._firsts[places] + rows[:, 1]
        size = prod(self._shape) * self._dtype.itemsize
        out = aligned(len(rows) * size)
        view = out.data
        slots = [view[start : start + size] for start in range(0, len(view), size)]
        # `map` over lists: a loop over arrays takes twice as long beside the reading.
        descriptors, offsets = self._descriptors[places].tolist(), self._values[records].tolist()
        sizes = list(map(os.preadv, descriptors, zip(slots), offsets))
        if short := [slot for slot, found in enumerate(sizes) if found != size]:
            raise ShardMismatch(
                where=self._shards[places[short[0]]].path,
                expected=f"{size} bytes at byte {offsets[short[0]]}",
                found="a shorter file than was verified",
                hint="Something changed the shard during training.",
            )
        values = out.view(self._dtype.newbyteorder("<")).astype(self._dtype, copy=False)
        targets = aligned(len(rows) * self._targets.itemsize).view(self._targets.dtype)
        np.take(self._targets, records, out=targets)
        return values.reshape(len(rows), *self._shape), targets


def aligned(size: int) -> NDArray[np.uint8]:
    """Allocate so many bytes of memory as TensorFlow uses directly; other memory is copied."""
    memory = np.empty(size + _ALIGNMENT, dtype=np.uint8)
    start = -memory.__array_interface__["data"][0] % _ALIGNMENT
    return memory[start : start + size]


def is_aligned(array: NDArray[Any]) -> bool:
    """Return whether TensorFlow can use the memory of an array directly."""
    address: int = array.__array_interface__["data"][0]
    return not address % _ALIGNMENT and array.flags.c_contiguous


def _numbers(descriptor: int, index: Index, path: Path) -> list[float]:
    found = []
    for row, (offset, length) in enumerate(
        zip(index.offset.tolist(), index.length.tolist(), strict=True)
    ):
        record = os.pread(descriptor, length, offset)
        try:
            found.append(value(memoryview(record)[HEADER_BYTES:-FOOTER_BYTES], "target", float))
        except RecordError as error:
            raise ShardMismatch(
                where=path,
                expected="a number to learn in each record",
                found=f"{error} at record {row}",
                hint="Shard the features again with numbers as the target.",
            ) from None
    return found
