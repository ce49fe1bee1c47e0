"""The index beside a shard: where each record's values lie, and its class.

A NumPy file (format 1.0, no pickled objects) of little-endian int64, shape (records, 4): offset of
the record in the shard, its length with framing, absolute offset of the feature values, class
number (-1 for none).
"""

from __future__ import annotations

import io
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from audioloom_trainer.errors import ShardMismatch, UnknownLabel

_COLUMNS = 4
_HEADER_BYTES, _FOOTER_BYTES = 12, 4


@dataclass(frozen=True)
class Expected:
    """What the manifest says about a shard."""

    records: int
    bytes: int
    value_bytes: int
    """Bytes of the feature values of one record."""
    classes: int | None
    """Size of the vocabulary; None when the target is a number."""


@dataclass(frozen=True)
class Index:
    """A checked index; each array has one element a record."""

    offset: NDArray[np.int64]
    length: NDArray[np.int64]
    values: NDArray[np.int64]
    label: NDArray[np.int64]


def parse_index(data: bytes, expected: Expected, where: object) -> Index:
    """Read the bytes of an index and hold them against the manifest.

    Args:
        data: the file.
        expected: what the manifest says about the shard.
        where: the index's location, for errors.

    Raises:
        ShardMismatch: not such a file, another number of records, records that do not follow each
            other to the end of the shard, or values outside their record.
        UnknownLabel: a class number outside the vocabulary.
    """
    rows = _rows(data, where)
    if len(rows) != expected.records:
        raise _mismatch(where, f"{expected.records} records", f"{len(rows)}")
    offset, length, values, label = (np.ascontiguousarray(rows[:, c]) for c in range(_COLUMNS))
    if (length < 1).any() or (length > expected.bytes).any():  # so that no sum overflows
        found = f"lengths from {length.min()} to {length.max()}"
        raise _mismatch(where, f"records of 1 to {expected.bytes} bytes", found)
    ends = offset + length
    starts = np.concatenate([[0], ends[:-1]])
    if not np.array_equal(starts, offset) or ends[-1] != expected.bytes:
        found = f"a gap, or an end at byte {ends[-1]}"
        raise _mismatch(where, f"records one after the other up to byte {expected.bytes}", found)
    fits = (values >= offset + _HEADER_BYTES) & (
        values <= ends - (_FOOTER_BYTES + expected.value_bytes)
    )
    if not fits.all():
        row = int(np.flatnonzero(~fits)[0])
        text = f"{expected.value_bytes} bytes of values inside each record"
        raise _mismatch(where, text, f"values at byte {values[row]} of record {row}")
    if expected.classes is not None:
        _check_labels(label, expected.classes, where)
    return Index(offset, length, values, label)


def _rows(data: bytes, where: object) -> NDArray[np.int64]:
    stream = io.BytesIO(data)
    wanted = f"a NumPy array of int64 and shape (records, {_COLUMNS})"
    try:
        rows = np.lib.format.read_array(stream, allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise _mismatch(where, wanted, str(error)) from None
    if rows.dtype != np.dtype("<i8") or rows.shape[1:] != (_COLUMNS,) or not len(rows):
        raise _mismatch(where, wanted, f"{rows.dtype} and shape {rows.shape}")
    if stream.read(1):
        raise _mismatch(where, wanted, "bytes after its end")
    return np.asarray(rows, dtype=np.int64)


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
