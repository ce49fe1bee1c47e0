"""The index file: NumPy reads it, and nothing else is taken for one."""

from __future__ import annotations

import io

import numpy as np
import pytest
from audioloom_manifest.errors import RecordError
from audioloom_manifest.records.index import dump, load

ROWS = np.array([[0, 66, 20, 1], [66, 70, 86, -1]], dtype=np.int64)


def test_numpy_reads_it() -> None:
    """As a plain array of little-endian int64, without pickles."""
    found = np.load(io.BytesIO(dump(ROWS)), allow_pickle=False)
    assert np.dtype("<i8") == found.dtype
    assert ROWS.tolist() == found.tolist() == load(dump(ROWS)).tolist()


def test_the_bytes_are_fixed() -> None:
    """Format 1.0 whatever NumPy writes by default."""
    assert dump(ROWS).startswith(b"\x93NUMPY\x01\x00")


def _saved(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "not a NumPy file"),
        (b"PK\x03\x04", "not a NumPy file"),
        (dump(ROWS)[:-1], "not a NumPy file"),
        (dump(ROWS) + b"x", "bytes after"),
        (_saved(ROWS.astype(np.int32)), "int32"),
        (_saved(ROWS[:, :3]), r"shape \(2, 3\)"),
        (_saved(ROWS[0]), r"shape \(4,\)"),
        (_saved(np.array([None], dtype=object)), "not a NumPy file"),
    ],
)
def test_anything_else_is_damage(data: bytes, text: str) -> None:
    """Named, and no object is ever unpickled."""
    with pytest.raises(RecordError, match=text):
        load(data)
