"""The offset index beside each shard: where each record and its values lie.

A NumPy file (format 1.0, no pickled objects) of little-endian int64, shape (records, 4). The
trainer reads any record by it in one ranged read, and its values without parsing.
"""

import io

import numpy as np
from numpy.typing import NDArray

from audioloom_manifest.errors import RecordError

HEADER_BYTES, FOOTER_BYTES = 12, 4
"""Of the frame around a record: what an index calls a record has both."""

COLUMNS = ("offset", "length", "values_offset", "label_id")
"""Columns in order: byte offset of the record in the shard; its length, framing included;
absolute offset of its values in the shard; class number, -1 for none."""


def dump(index: NDArray[np.int64]) -> bytes:
    """The bytes of an index file."""
    stream = io.BytesIO()
    rows = np.ascontiguousarray(index, dtype="<i8").reshape(-1, len(COLUMNS))
    np.lib.format.write_array(stream, rows, version=(1, 0), allow_pickle=False)
    return stream.getvalue()


def load(data: bytes) -> NDArray[np.int64]:
    """Read an index file; anything but what `dump` writes is `RecordError`."""
    stream = io.BytesIO(data)
    try:
        rows = np.lib.format.read_array(stream, allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise RecordError(f"not a NumPy file of numbers: {error}") from error
    if rows.dtype != np.dtype("<i8") or rows.ndim != 2 or rows.shape[1] != len(COLUMNS):  # noqa: PLR2004
        raise RecordError(
            f"an array of {rows.dtype} and shape {rows.shape}, "
            f"expected int64 and (records, {len(COLUMNS)})"
        )
    if stream.read(1):
        raise RecordError("bytes after the end of the array")
    return np.asarray(rows, dtype=np.int64)
