from __future__ import annotations

from pathlib import Path

from audioloom_featurizer.inventory.sample import sample_rows
from audioloom_featurizer.inventory.schema import batch_of
from audioloom_featurizer.inventory.tally import Tally
from featurizer_work import scan
from hypothesis import given
from hypothesis import strategies as st


@given(st.sets(st.text("abé/", min_size=1, max_size=4)), st.integers(1, 20), st.integers(1, 20))
def test_a_larger_sample_contains_a_smaller_one(paths: set[str], one: int, other: int) -> None:
    """In the order of the paths, whatever batches they come in."""
    ordered = sorted(paths, key=str.encode)
    whole = [batch_of(path=ordered[at : at + 3]) for at in range(0, len(ordered), 3)]
    taken = [
        [path for batch in sample_rows(whole, most, Tally()) for path in batch[0].to_pylist()]
        for most in sorted((one, other))
    ]
    assert [min(most, len(paths)) for most in sorted((one, other))] == [*map(len, taken)]
    assert set(taken[0]) <= set(taken[1])
    assert all(sorted(each, key=str.encode) == each for each in taken)


def test_a_scan_of_a_sample(source: Path, root: Path) -> None:
    """A run of its own, with labels; all recordings that it has are those of the whole."""
    data = scan(source, root, limit=3).data
    assert (3, 3) == (data["recordings"], data["labelled"])
    assert scan(source, root, limit=3).data["already_committed"]
    assert 7 == scan(source, root).data["recordings"]
