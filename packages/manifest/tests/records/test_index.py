"""The index file: NumPy reads it, and nothing else is taken for one."""

from __future__ import annotations

import io
import struct
from contextlib import suppress

import numpy as np
import pytest
from audioloom_manifest.errors import RecordError
from audioloom_manifest.records.index import dump, load, read_array

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


def _with_header(text: str) -> bytes:
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + bytes(64)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "not a NumPy file"),
        (b"PK\x03\x04", "not a NumPy file"),
        (dump(ROWS)[:-1], "expected 64 bytes of rows, found 63"),
        (dump(ROWS) + b"x", "expected 64 bytes of rows, found 65"),
        (_saved(ROWS.astype(np.int32)), "int32"),
        (_saved(ROWS[:, :3]), r"shape \(2, 3\)"),
        (_saved(ROWS[0]), r"shape \(4,\)"),
        (_saved(np.asfortranarray(ROWS)), "an array of int64"),
        (_saved(np.array([None], dtype=object)), "an array of object"),
        (_with_header("{'descr': '<i8', 'shape': (-2, 4), 'fortran_order': False}"), "bytes of"),
        (_with_header("{'descr': (), 'shape': (2, 4), 'fortran_order': False}"), "not a NumPy"),
        (_with_header("{" * 9000), "not a NumPy file"),
        (_with_header("+".join("1" * 4000)), "not a NumPy file"),
        (_with_header("-" * 9000 + "1"), "not a NumPy file"),
    ],
)
def test_anything_else_is_damage(data: bytes, text: str) -> None:
    """Named, and no object is ever unpickled."""
    with pytest.raises(RecordError, match=text):
        load(data)


@pytest.mark.filterwarnings("ignore")  # NumPy warns of other dtypes and of older writers
def test_a_flipped_bit_of_the_header_is_damage_or_nothing() -> None:
    """Whatever NumPy makes of it."""
    whole = dump(ROWS)
    for at in range(8 * (len(whole) - ROWS.nbytes)):
        data = bytearray(whole)
        data[at // 8] ^= 1 << at % 8
        with suppress(RecordError):
            assert ROWS.tolist() == load(bytes(data)).tolist()


def test_a_header_that_claims_any_number_of_rows_takes_no_memory() -> None:
    """Neither a terabyte nor more than an address holds."""
    for rows in (10**12, 10**30):
        text = f"{{'descr': '<i8', 'shape': ({rows}, 4), 'fortran_order': False}}"
        with pytest.raises(RecordError, match="bytes of rows, found 64"):
            load(_with_header(text))


@pytest.mark.parametrize(
    ("dtype", "shape", "size"),
    [
        ("'<i8'", (-2, -4), 64),
        ("'<i8'", (-1, -1, 8), 64),
        ("'<i8'", (0, 2**70), 0),
        ("'S0'", (2,), 0),
        ("'V0'", (2,), 0),
        ("[]", (2,), 0),
        ("'(2,)<f4'", (8,), 64),
    ],
)
def test_an_array_that_numpy_cannot_make_is_damage(
    dtype: str, shape: tuple[int, ...], size: int
) -> None:
    """A header may agree with the size of the file and still be one of no array."""
    text = f"{{'descr': {dtype}, 'shape': {shape}, 'fortran_order': False}}"
    with pytest.raises(RecordError):
        read_array(_with_header(text)[: 10 + len(text) + size])


def test_no_rows() -> None:
    """An index of nothing is read as it was written."""
    assert (0, 4) == load(dump(ROWS[:0])).shape
