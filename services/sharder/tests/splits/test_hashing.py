"""Keys tell records apart, and their hashes are fixed for ever."""

from __future__ import annotations

from audioloom_sharder.splits.hashing import rank_hashes, record_key
from hypothesis import given
from hypothesis import strategies as st

keys = st.tuples(st.text(max_size=4), st.integers(-1, 2), st.integers(0, 3))


@given(one=keys, other=keys)
def test_different_records_have_different_keys(
    one: tuple[str, int, int], other: tuple[str, int, int]
) -> None:
    """No two keys run together."""
    assert (one == other) == (record_key(*one) == record_key(*other))


def test_the_hash_is_fixed_for_ever() -> None:
    """Another answer would put every record elsewhere."""
    found = rank_hashes([("a/b.wav", 0, 0), ("é.wav", 1, 12)], seed=3)
    assert [
        [8100691488960100079, 7524959601436096627],
        [7600424959482177442, 2336744191057641538],
    ] == found.tolist()


def test_the_seed_changes_the_order() -> None:
    """Two seeds, two orders."""
    rows = [(f"{i}.wav", 0, 0) for i in range(100)]
    one, other = (rank_hashes(rows, seed=seed)[:, 0].argsort().tolist() for seed in (0, 1))
    assert one != other
