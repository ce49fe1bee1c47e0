from __future__ import annotations

import pytest
from audioloom_featurizer.budget import Budget, Refusals, check_budget
from audioloom_featurizer.errors import BadWish, NothingReadable, TooManyRefused
from hypothesis import given
from hypothesis import strategies as st

EXAMPLES = {"empty": ["a.wav", "no samples"], "damaged": ["b.wav", "cut"]}


@pytest.mark.parametrize("text", ["", "one", "-1", "101%", "1.5", "1e3%", "%", "1 %", "0x1"])
def test_what_is_no_budget_is_refused(text: str) -> None:
    """The error shows both forms."""
    with pytest.raises(BadWish, match="1%"):
        Budget(text).allowed(100)


@pytest.mark.parametrize(
    ("text", "recordings", "allowed"),
    [("1%", 99, 0), ("1%", 100, 1), ("0.5%", 1705, 8), ("100%", 7, 7), ("25", 3, 25), ("0", 9, 0)],
)
def test_a_share_is_rounded_down(text: str, recordings: int, allowed: int) -> None:
    """A budget of 1% allows nothing of 99, one of 100."""
    assert allowed == Budget(text).allowed(recordings)


@given(st.integers(0, 10_000), st.integers(0, 10**12))
def test_a_share_is_exact(hundredths: int, recordings: int) -> None:
    """No share is off by one for want of floating-point digits."""
    text = f"{hundredths // 100}.{hundredths % 100:02}%"
    assert recordings * hundredths // 10_000 == Budget(text).allowed(recordings)


def test_over_budget_names_the_worst_with_examples() -> None:
    """Most frequent first, each with a path and a reason."""
    refusals = Refusals({"damaged": 1, "empty": 4}, EXAMPLES)
    with pytest.raises(TooManyRefused) as caught:
        check_budget(refusals, budget=Budget("4"), recordings=9, done=6, where="x")
    text = str(caught.value)
    assert text.index("4 × empty, such as a.wav: no samples") < text.index("1 × damaged")
    assert "at most 4 of 9" in text


def test_within_budget_goes_on() -> None:
    """Exactly the budget is allowed."""
    refusals = Refusals({"empty": 4}, EXAMPLES)
    check_budget(refusals, budget=Budget("4"), recordings=9, done=9, where="x")


def test_nothing_readable_is_never_allowed() -> None:
    """Not even a budget of everything commits a run without one recording."""
    refusals = Refusals({"empty": 3}, EXAMPLES)
    check_budget(refusals, budget=Budget("100%"), recordings=4, done=3, where="x")
    with pytest.raises(NothingReadable, match=r"a\.wav"):
        check_budget(refusals, budget=Budget("100%"), recordings=3, done=3, where="x")
