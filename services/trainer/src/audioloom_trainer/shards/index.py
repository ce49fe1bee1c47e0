"""Read the index of a shard and check it against the manifest."""

from dataclasses import dataclass

import numpy as np
from audioloom_manifest.errors import RecordError
from audioloom_manifest.records.index import COLUMNS, FOOTER_BYTES, HEADER_BYTES, load
from numpy.typing import NDArray

from audioloom_trainer.errors import ShardMismatch, UnknownLabel


@dataclass(frozen=True)
class Index:
    """A checked index, with one element a record in each array."""

    offset: NDArray[np.int64]
    length: NDArray[np.int64]
    values: NDArray[np.int64]
    label: NDArray[np.int64]


def parse_index(
    data: bytes, where: object, *, records: int, size: int, value_bytes: int, classes: int | None
) -> Index:
    """Parse an index, found *where*, and check it against the manifest's facts about the shard.

    A shard of *size* bytes has *value_bytes* of feature values in each record. It has no classes
    when the target is a number.

    Raises:
        ShardMismatch: the file is no index, has another number of records, its records do not
            fill the shard without gaps, or values lie outside their record.
        UnknownLabel: a class number is outside the vocabulary.
    """
    try:
        rows = load(data)
    except RecordError as error:
        raise _mismatch(where, "the index of a shard", str(error)) from None
    if len(rows) != records:
        raise _mismatch(where, f"{records} records", f"{len(rows)}")
    offset, length, values, label = (np.ascontiguousarray(rows[:, c]) for c in range(len(COLUMNS)))
    if (length < 1).any() or (length > size).any():  # first, so that no sum overflows
        found = f"lengths from {length.min()} to {length.max()}"
        raise _mismatch(where, f"records of 1 to {size} bytes", found)
    ends = offset + length
    if not np.array_equal([0, *ends[:-1]], offset) or ends[-1] != size:
        found = f"a gap, or an end at byte {ends[-1]}"
        raise _mismatch(where, f"records one after the other up to byte {size}", found)
    last = ends - FOOTER_BYTES - value_bytes
    outside = np.flatnonzero((values < offset + HEADER_BYTES) | (values > last))
    if len(outside):
        found = f"values at byte {values[outside[0]]} of record {outside[0]}"
        raise _mismatch(where, f"{value_bytes} bytes of values inside each record", found)
    if classes is not None and len(outside := np.flatnonzero((label < 0) | (label >= classes))):
        row = int(outside[0])
        raise UnknownLabel(
            where=where,
            expected=f"class numbers 0 to {classes - 1}",
            found=f"{label[row]} at record {row}, and {len(outside) - 1} more such records",
            hint="Shard the features again with every label in the vocabulary.",
        )
    return Index(offset, length, values, label)


def _mismatch(where: object, expected: str, found: str) -> ShardMismatch:
    hint = "Rerun the sharder under another name, and train on what it writes."
    return ShardMismatch(where=where, expected=expected, found=found, hint=hint)
