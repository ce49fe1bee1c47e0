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
    [("1%", 399, 3), ("1%", 400, 4), ("0.5%", 1705, 8), ("100%", 7, 7), ("25", 3, 25), ("0", 9, 0)],
)
def test_a_share_is_rounded_down(text: str, recordings: int, most: int) -> None:
    """A budget of 1% allows three of 399, four of 400."""
    assert most == allowed(text, recordings)


@pytest.mark.parametrize(
    ("text", "recordings", "most"),
    [("1%", 94, 3), ("1%", 8, 2), ("1%", 3, 0), ("0%", 94, 0), ("0.00%", 94, 0), ("0", 94, 0)],
)
def test_a_share_allows_a_few_of_a_small_folder(text: str, recordings: int, most: int) -> None:
    """But none where the share is 0, and at most a quarter."""
    assert most == allowed(text, recordings)


@given(st.integers(0, 10_000), st.integers(0, 10**12))
def test_a_share_is_exact(hundredths: int, recordings: int) -> None:
    """No share is off by one for want of floating-point digits."""
    text = f"{hundredths // 100}.{hundredths % 100:02}%"
    exact = recordings * hundredths // 10_000
    assert exact == allowed(text, recordings) or exact < 3


def test_a_small_run_goes_on_to_find_all_refusals() -> None:
    """A large one stops when its failure is certain."""
    found = refusals({"damaged": 500})
    check_budget(found, budget=whole("0"), recordings=1000, done=999, where="x")
    for recordings, done in ((1000, 1000), (1001, 500)):
        with pytest.raises(TooManyRefused):
            check_budget(found, budget=whole("0"), recordings=recordings, done=done, where="x")


def test_over_budget_names_the_worst_with_examples() -> None:
    """Most frequent first, each with a path and a reason."""
    found = refusals({"damaged": 1, "empty": 4})
    with pytest.raises(TooManyRefused) as caught:
        check_budget(found, budget=whole("4"), recordings=9, done=9, where="x")
    text = str(caught.value)
    assert text.index("4 × empty, such as a.wav: no samples") < text.index("1 × damaged")
    assert "at most 4 of 9" in text


def test_the_list_of_the_worst_is_told_from_those_over_the_limit() -> None:
    """It has those of all limits, so their number is said where it is another."""
    budget = whole("0,empty=1")
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
        ("1%,damaged=0", {"damaged": 1}, "at most 0 of 400 refused of class damaged"),
        ("1%,empty=10%", {"empty": 41}, "at most 40 of 400 refused of class empty"),
        ("1%,empty=10%", {"damaged": 5}, "at most 4 of 400 refused beside empty"),
        ("empty=10%", {"damaged": 5, "empty": 39}, "at most 4 of 400 refused beside empty"),
    ],
)
def test_a_class_over_its_own_limit(text: str, counts: dict[str, int], told: str) -> None:
    """The error says which limit it was."""
    with pytest.raises(TooManyRefused, match=told):
        check_budget(refusals(counts), budget=whole(text), recordings=400, done=400, where="x")


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
    check_budget(refusals(counts), budget=whole(text), recordings=400, done=400, where="x")
