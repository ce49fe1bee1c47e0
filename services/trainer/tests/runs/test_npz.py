from __future__ import annotations

import numpy as np
from audioloom_trainer.runs.npz import BadArrays, dump_arrays, load_arrays
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

ARRAYS = {"b/x": np.arange(6, dtype=np.float32).reshape(2, 3), "a": np.array(3, dtype=np.int64)}


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
