from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest
from audioloom_trainer.runs.npz import BadArrays, dump_arrays, load_arrays
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

ARRAYS = {"b/x": np.arange(6, dtype=np.float32).reshape(2, 3), "a": np.array(3, dtype=np.int64)}


def objects() -> bytes:
    """An archive with a pickled object in it."""
    out = io.BytesIO()
    np.savez(out, x=np.array([{}], dtype=object))
    return out.getvalue()


def compressed() -> bytes:
    """An archive whose entry becomes much larger."""
    out = io.BytesIO()
    np.savez_compressed(out, x=np.zeros(1 << 20))
    return out.getvalue()


def entry(content: bytes) -> bytes:
    """An archive with one stored entry."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("x.npy", content)
    return out.getvalue()


def npy(header: str, values: bytes) -> bytes:
    """A NumPy file with a header of any text."""
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + values


HUGE = npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1099511627776,)}", b"")
TURNED = npy("{'descr': '<f8', 'fortran_order': True, 'shape': (2, 1)}", bytes(16))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK",
        dump_arrays(ARRAYS)[:-30],
        dump_arrays(ARRAYS)[100:],
        objects(),
        compressed(),
        npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}", bytes(8)),
        entry(b"no array"),
        entry(HUGE),
        entry(TURNED),
        entry(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2,", bytes(16))),
    ],
)
def test_what_is_no_archive_is_refused(data: bytes) -> None:
    """And nothing is unpickled."""
    with pytest.raises(BadArrays):
        load_arrays(data)


@given(st.binary(max_size=200), st.integers(0, 400))
def test_damage_is_told_or_harmless(junk: bytes, at: int) -> None:
    """No other error comes out, whatever went in."""
    data = bytearray(dump_arrays(ARRAYS))
    data[at : at + len(junk)] = junk
    try:
        load_arrays(bytes(data))
    except BadArrays:
        return


@given(
    st.dictionaries(
        st.text("abc/_0", min_size=1, max_size=9),
        hnp.arrays(st.sampled_from(["f4", "f2", "i8", "u4", "?"]), hnp.array_shapes(min_dims=0)),
        max_size=4,
    )
)
def test_arrays_come_back_as_they_were(arrays: dict[str, np.ndarray]) -> None:
    """In their order, and the bytes are the same each time."""
    data = dump_arrays(arrays)
    assert data == dump_arrays(dict(arrays))
    found = load_arrays(data)
    assert list(arrays) == list(found)
    for name, array in arrays.items():
        assert array.dtype == found[name].dtype
        np.testing.assert_array_equal(array, found[name])
