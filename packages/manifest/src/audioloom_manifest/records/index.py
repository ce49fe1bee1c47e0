"""The offset index beside each shard: where each record and its values lie.

A NumPy file (format 1.0, no pickled objects) of little-endian int64, shape (records, 4). The
trainer reads any record by it in one ranged read, and its values without parsing.
"""

import io
import math
import tokenize
from typing import Any

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
    return np.asarray(read_rows(data, np.dtype("<i8"), len(COLUMNS)), dtype=np.int64)


def read_rows(data: bytes, dtype: np.dtype[Any], *width: int) -> NDArray[Any]:
    """Read a NumPy file (format 1.0) whose rows have this dtype and, inside a row, this shape.

    Raises:
        RecordError: the file is another one, or has more or fewer bytes than its header says.
    """
    rows = read_array(data)
    if rows.dtype != dtype or not rows.shape or rows.shape[1:] != width:
        expected = ", ".join(map(str, ("rows", *width)))
        raise RecordError(
            f"an array of {rows.dtype} and shape {rows.shape}, expected {dtype} and ({expected})"
        )
    return rows


def read_array(data: bytes) -> NDArray[Any]:
    """Read a NumPy file (format 1.0, C order) from outside; the array is a view of *data*.

    No memory is reserved for what the header claims, and nothing is unpickled.

    Raises:
        RecordError: the file is another one, or has more or fewer bytes than its header says.
    """
    stream = io.BytesIO(data)
    try:
        np.lib.format.read_magic(stream)
        shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    except _BAD_HEADER as error:
        raise RecordError(f"not a NumPy file of numbers: {error}") from error
    if is_fortran or dtype.hasobject:
        raise RecordError(f"an array of {dtype}, expected numbers in C order")
    start = stream.tell()
    if (claimed := math.prod(shape) * dtype.itemsize) != len(data) - start:
        raise RecordError(f"expected {claimed:,} bytes of rows, found {len(data) - start:,}")
    try:  # a size below 0 or beyond an address, items of no bytes, a dtype with a shape of its own
        return np.frombuffer(data, dtype, offset=start).reshape(shape)
    except ValueError as error:
        raise RecordError(f"an array of {dtype} and shape {shape}: {error}") from error


# NumPy evaluates the header as Python, which fails in all of these ways.
_BAD_HEADER = (
    ValueError,
    TypeError,
    LookupError,
    SyntaxError,
    tokenize.TokenError,
    RecursionError,
    MemoryError,
)
