from __future__ import annotations

import pytest
from audioloom_trainer.reporting.headline import headline, macro_f1, wilson_interval
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("right", "records", "expected"),
    [(0, 10, (0.0, 0.27753)), (5, 10, (0.23659, 0.76341)), (10, 10, (0.72247, 1.0))],
)
def test_an_interval_is_that_of_wilson(
    right: int, records: int, expected: tuple[float, float]
) -> None:
    """As published tables have it: not 0 wide where nothing, or all, is right."""
    assert expected == pytest.approx(wilson_interval(right, records), abs=1e-5)


@given(st.integers(1, 10**9), st.floats(0, 1))
def test_an_interval_holds_the_share(records: int, share: float) -> None:
    """And never leaves 0 to 1."""
    right = round(share * records)
    low, high = wilson_interval(right, records)
    assert 0 <= low <= right / records + 1e-12
    assert right / records - 1e-12 <= high <= 1


def test_macro_f1_counts_every_class_the_same() -> None:
    """However few records it has; a class that is neither true nor predicted does not count."""
    assert (2 * 90 / 190 + 0) / 2 == pytest.approx(macro_f1([[90, 0], [10, 0]]))
    assert 1.0 == macro_f1([[5, 0, 0], [0, 1, 0], [0, 0, 0]])
    assert 0.0 == macro_f1([[0]])


def test_numbers_have_their_loss_as_the_headline() -> None:
    """Beside that of a model that always answers the mean."""
    found = {"val": {"records": 4, "groups": 2, "scores": {"loss": 2.0, "mse_of_mean": 8.0}}}
    text = headline(found)
    for told in ("loss on val", "2.0000", "4 records, from 2 groups", "the mean of train: 8.0000"):
        assert told in text
    assert "interval" not in text
