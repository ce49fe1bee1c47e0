"""Read the index of a shard and check it against the manifest."""

from dataclasses import dataclass

import numpy as np
from audioloom_manifest.errors import RecordError
from audioloom_manifest.records.index import COLUMNS, FOOTER_BYTES, HEADER_BYTES, load
from numpy.typing import NDArray

from audioloom_trainer.errors import ShardMismatch, UnknownLabel


@dataclass(frozen=True)
class Expected:
    """The manifest's facts about a shard."""

    records: int
    bytes: int
    value_bytes: int
    """Bytes of the feature values of one record."""
    classes: int | None
    """Size of the vocabulary; None when the target is a number."""


@dataclass(frozen=True)
class Index:
    """A checked index, with one element a record in each array."""

    offset: NDArray[np.int64]
    length: NDArray[np.int64]
    values: NDArray[np.int64]
    label: NDArray[np.int64]


def parse_index(data: bytes, expected: Expected, where: object) -> Index:
    """Parse the bytes of an index and check them against the manifest.

    Args:
        data: bytes of the index file.
        expected: the manifest's facts about the shard.
        where: the index's location, for errors.

    Raises:
        ShardMismatch: the file is no index, has another number of records, its records do not
            fill the shard without gaps, or values lie outside their record.
        UnknownLabel: a class number is outside the vocabulary.
    """
    rows = _rows(data, where)
    if len(rows) != expected.records:
        raise _mismatch(where, f"{expected.records} records", f"{len(rows)}")
    offset, length, values, label = (np.ascontiguousarray(rows[:, c]) for c in range(len(COLUMNS)))
    if (length < 1).any() or (length > expected.bytes).any():  # first, so that no sum overflows
        found = f"lengths from {length.min()} to {length.max()}"
        raise _mismatch(where, f"records of 1 to {expected.bytes} bytes", found)
    ends = offset + length
    starts = np.concatenate([[0], ends[:-1]])
    if not np.array_equal(starts, offset) or ends[-1] != expected.bytes:
        found = f"a gap, or an end at byte {ends[-1]}"
        raise _mismatch(where, f"records one after the other up to byte {expected.bytes}", found)
    fits = (values >= offset + HEADER_BYTES) & (
        values <= ends - (FOOTER_BYTES + expected.value_bytes)
    )
    if not fits.all():
        row = int(np.flatnonzero(~fits)[0])
        text = f"{expected.value_bytes} bytes of values inside each record"
        raise _mismatch(where, text, f"values at byte {values[row]} of record {row}")
    if expected.classes is not None:
        _check_labels(label, expected.classes, where)
    return Index(offset, length, values, label)


def _rows(data: bytes, where: object) -> NDArray[np.int64]:
    try:
        return load(data)
    except RecordError as error:
        raise _mismatch(where, "the index of a shard", str(error)) from None


def _check_labels(label: NDArray[np.int64], classes: int, where: object) -> None:
    outside = np.flatnonzero((label < 0) | (label >= classes))
    if len(outside):
        row = int(outside[0])
        raise UnknownLabel(
            where=where,
            expected=f"class numbers 0 to {classes - 1}",
            found=f"{label[row]} at record {row}, and {len(outside) - 1} more such records",
            hint="Shard the features again with every label in the vocabulary.",
        )


def _mismatch(where: object, expected: str, found: str) -> ShardMismatch:
    hint = "Rerun the sharder under another name, and train on what it writes."
    return ShardMismatch(where=where, expected=expected, found=found, hint=hint)
