from __future__ import annotations

from collections import Counter

import pytest
from audioloom_featurizer.errors import InvalidOption, NothingReadable, TooManyRefused
from audioloom_featurizer.extraction.error_budget import (
    ErrorBudget,
    Refusals,
    allowed,
    check_budget,
    parse_budget,
)
from hypothesis import given
from hypothesis import strategies as st


def whole(text: str) -> ErrorBudget:
    return parse_budget(text, "1%")


def refusals(counts: dict[str, int]) -> Refusals:
    examples = {"empty": ["a.wav", "no samples"], "damaged": ["b.wav", "cut"]}
    return Refusals(Counter(counts), examples)


@pytest.mark.parametrize("text", ["", "one", "-1", "101%", "1.5", "1e3%", "%", "1 %", "0x1"])
def test_what_is_no_budget_is_refused(text: str) -> None:
    """The error shows both forms."""
    with pytest.raises(InvalidOption, match="1%"):
        allowed(text, 100)


@pytest.mark.parametrize(
    ("text", "recordings", "most"),
    [("1%", 99, 0), ("1%", 100, 1), ("0.5%", 1705, 8), ("100%", 7, 7), ("25", 3, 25), ("0", 9, 0)],
)
def test_a_share_is_rounded_down(text: str, recordings: int, most: int) -> None:
    """A budget of 1% allows nothing of 99, one of 100."""
    assert most == allowed(text, recordings)


@given(st.integers(0, 10_000), st.integers(0, 10**12))
def test_a_share_is_exact(hundredths: int, recordings: int) -> None:
    """No share is off by one for want of floating-point digits."""
    text = f"{hundredths // 100}.{hundredths % 100:02}%"
    assert recordings * hundredths // 10_000 == allowed(text, recordings)


def test_over_budget_names_the_worst_with_examples() -> None:
    """Most frequent first, each with a path and a reason."""
    found = refusals({"damaged": 1, "empty": 4})
    with pytest.raises(TooManyRefused) as caught:
        check_budget(found, budget=whole("4"), recordings=9, done=6, where="x")
    text = str(caught.value)
    assert text.index("4 × empty, such as a.wav: no samples") < text.index("1 × damaged")
    assert "at most 4 of 9" in text


def test_the_list_of_the_worst_is_told_from_those_over_the_limit() -> None:
    """It has those of all limits, so their number is said where it is another."""
    budget = whole("0,empty=10%")
    with pytest.raises(TooManyRefused, match=r"found 1 refused .* 10 \(2 with those under other"):
        check_budget(
            refusals({"damaged": 1, "empty": 1}),
            budget=budget,
            recordings=10,
            done=10,
            where="x",
        )
    with pytest.raises(TooManyRefused, match="found 2 refused among the first 10:"):
        check_budget(refusals({"damaged": 2}), budget=budget, recordings=10, done=10, where="x")


def test_within_budget_goes_on() -> None:
    """Exactly the budget is allowed."""
    found = refusals({"empty": 4})
    check_budget(found, budget=whole("4"), recordings=9, done=9, where="x")


def test_nothing_readable_is_never_allowed() -> None:
    """Not even a budget of everything commits a run without one recording."""
    found = refusals({"empty": 3})
    check_budget(found, budget=whole("100%"), recordings=4, done=3, where="x")
    with pytest.raises(NothingReadable, match=r"a\.wav"):
        check_budget(found, budget=whole("100%"), recordings=3, done=3, where="x")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("1%,2%", "1% and 2%"),
        ("empty=1,empty=2", "empty twice"),
        ("=1%", "found ''"),
        ("Empty=1", "empty, found 'Empty'"),
        ("damagd=1", "damaged, found 'damagd'"),
        ("nonsense=1", "bad_header(.|\n)*found 'nonsense'"),
        ("empty=", "''"),
        ("1%,", "''"),
    ],
)
def test_a_budget_that_contradicts_itself_is_refused(text: str, word: str) -> None:
    """Before anything is worked on."""
    with pytest.raises(InvalidOption, match=word):
        whole(text)


@pytest.mark.parametrize(
    ("text", "counts", "told"),
    [
        ("1%,damaged=0", {"damaged": 1}, "at most 0 of 100 refused of class damaged"),
        ("1%,empty=10%", {"empty": 11}, "at most 10 of 100 refused of class empty"),
        ("1%,empty=10%", {"damaged": 2}, "at most 1 of 100 refused beside empty"),
        ("empty=10%", {"damaged": 2, "empty": 9}, "at most 1 of 100 refused beside empty"),
    ],
)
def test_a_class_over_its_own_limit(text: str, counts: dict[str, int], told: str) -> None:
    """The error says which limit it was."""
    with pytest.raises(TooManyRefused, match=told):
        check_budget(refusals(counts), budget=whole(text), recordings=100, done=100, where="x")


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("1%,damaged=0", {"empty": 1}),
        ("1%,empty=10%", {"empty": 10, "damaged": 1}),
        ("0,empty=100%", {"empty": 99}),
    ],
)
def test_a_class_with_a_limit_does_not_count_towards_the_rest(
    text: str, counts: dict[str, int]
) -> None:
    """Otherwise no class could be allowed more than the rest."""
    check_budget(refusals(counts), budget=whole(text), recordings=100, done=100, where="x")
