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
    """A shard on local disk, open, with the place of the values and the target of each record.

    Lists, because one element of an array takes three times as long.
    """

    path: Path
    descriptor: int
    values: list[int]
    targets: list[float]
    """Class numbers, or numbers to learn."""

    def close(self) -> None:
        """Close the file; the shard must not be read afterwards."""
        os.close(self.descriptor)


def open_local(path: Path, index: Index, *, numbers: bool) -> LocalShard:
    """Open a verified shard; ShardMismatch if numbers are the targets and a record lacks one."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        targets = _numbers(descriptor, index, path) if numbers else index.label.tolist()
    except BaseException:
        os.close(descriptor)
        raise
    return LocalShard(path, descriptor, index.values.tolist(), targets)


def gather(
    shards: Mapping[int, LocalShard],
    rows: NDArray[np.int64],
    *,
    shape: tuple[int, ...],
    dtype: str,
    target_dtype: str,
) -> tuple[Features, Targets]:
    """Read features (records, *shape) and targets (records,) of records in shards, by number.

    In *rows* stand shard number and row in the shard of each record: int64 (records, 2).

    Raises:
        ShardMismatch: a file is shorter than at its verification.
    """
    size = prod(shape) * np.dtype(dtype).itemsize
    out = _aligned(len(rows) * size)
    view = out.data
    targets: list[float] = []
    for slot, (number, row) in enumerate(rows.tolist()):
        shard = shards[number]
        offset = shard.values[row]
        target = view[slot * size : (slot + 1) * size]
        if os.preadv(shard.descriptor, [target], offset) != size:
            raise ShardMismatch(
                where=shard.path,
                expected=f"{size} bytes at byte {offset}",
                found="a shorter file than was verified",
                hint="Something changed the shard during training.",
            )
        targets.append(shard.targets[row])
    values = out.view(np.dtype(dtype).newbyteorder("<")).astype(dtype, copy=False)
    return values.reshape(len(rows), *shape), np.array(targets, dtype=target_dtype)


def _aligned(size: int) -> NDArray[np.uint8]:
    """Allocate aligned memory, which TensorFlow uses directly; it copies unaligned memory."""
    memory = np.empty(size + _ALIGNMENT, dtype=np.uint8)
    start = -memory.ctypes.data % _ALIGNMENT
    return memory[start : start + size]


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
