import numpy as np
import pytest
from audioloom_trainer.input.sampler import key_of, permutation
from hypothesis import given
from hypothesis import strategies as st


def test_order_is_frozen() -> None:
    """These numbers may never change: a run is resumed by an order that is computed again."""
    key = key_of(7, 0, "records", 3, 100)
    assert key == 6803571443918713755
    assert permutation(key, 12).tolist() == [6, 7, 8, 2, 1, 5, 4, 0, 3, 11, 9, 10]


@given(st.integers(0, 2**64 - 1), st.integers(0, 300))
def test_every_number_once(key: int, count: int) -> None:
    """A permutation holds 0 … count-1, each exactly once."""
    assert sorted(permutation(key, count).tolist()) == list(range(count))


@pytest.mark.parametrize("other", [(8, 0, 3), (7, 1, 3), (7, 0, 4)])
def test_key_parts_matter(other: tuple[int, ...]) -> None:
    """Another seed, epoch or lane gives another order."""
    one, two = (permutation(key_of(*parts), 1000) for parts in ((7, 0, 3), other))
    assert not np.array_equal(one, two)


def test_looks_shuffled() -> None:
    """Neighbours end far apart: the mean distance is about a third of the length."""
    order = permutation(key_of("spread"), 30_000)
    distance = np.abs(np.diff(order)).mean()
    assert 9_500 < distance < 10_500
