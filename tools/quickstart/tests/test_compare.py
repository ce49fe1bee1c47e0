import pytest
from audioloom_quickstart.compare import broken_expectations, together


def around(mean: float) -> list[float]:
    """The scores of three seeds, 0.05 from the least to the greatest."""
    return [mean - 0.025, mean, mean + 0.025]


@pytest.mark.parametrize(
    ("ours", "theirs", "fault"),
    [
        (0.49, 0.5, "≥ 0.5, found 0.490"),
        (0.98, 0.98, "look for a leak"),
        (0.7, 0.76, "0.050, found 0.700 and 0.760"),
        (0.76, 0.7, "0.050, found 0.760 and 0.700"),
    ],
)
def test_what_does_not_hold_is_told(ours: float, theirs: float, fault: str) -> None:
    """A score that is poor, too good, or apart from the other is a fault of its own."""
    broken = broken_expectations(around(ours), around(theirs))
    assert 1 == len(broken)
    assert fault in broken[0]


def test_scores_that_agree_are_fine() -> None:
    """Two good means that are as near as the scores of one side."""
    assert [] == broken_expectations(around(0.72), around(0.76))


def test_splits_count_by_their_records() -> None:
    """Three of four right and none of two right are half of six."""
    splits = {"train": {"records": 9}, "val": {"records": 2}, "test": {"records": 4}}
    assert 0.5 == together({"test": 0.75, "val": 0.0}, splits)
