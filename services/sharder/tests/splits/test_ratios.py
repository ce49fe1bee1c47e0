"""Splits: what a wish may say, and that a group stays where it is."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from audioloom_sharder.errors import InvalidOption
from audioloom_sharder.splits.hashing import group_hashes, split_of
from audioloom_sharder.splits.ratios import parse_ratios
from hypothesis import given
from hypothesis import strategies as st
from sharder_rules import rules_of

WISH = "train=0.8,val=0.1,test=0.1"
SHARES = tuple(parse_ratios(WISH).values())


@pytest.mark.parametrize(
    ("wish", "text"),
    [
        ("", "'' is not NAME=RATIO"),
        ("train", "'train' is not NAME=RATIO"),
        ("Train=1", "'Train=1' is not NAME=RATIO"),
        ("a-b=1", "not NAME=RATIO"),
        ("../x=1", "not NAME=RATIO"),
        ("train=0.8,val=0.1", "add up to 0.9, expected 1"),
        ("train=0.5,train=0.5", "'train' is named twice"),
        ("train=1,val=0", "leave a split out"),
        ("train=1.5,val=-0.5", "expected a number"),
        ("train=nan", "expected a number"),
        ("train=1/2,val=1/2", "expected a number"),
        ("train=1e0", "expected a number"),
        ("train=.", "expected a number"),
        ("train=1,", "'' is not NAME=RATIO"),
    ],
)
def test_a_bad_wish_is_refused(wish: str, text: str) -> None:
    """In a sentence that names the part, and shows how to write it."""
    with pytest.raises(InvalidOption, match=text):
        parse_ratios(wish)


def test_shares_are_exact_and_in_order_of_name() -> None:
    """0.1 is a tenth, not its binary neighbour; the order of the wish does not matter."""
    expected = {"test": Fraction(1, 10), "train": Fraction(4, 5), "val": Fraction(1, 10)}
    for found in (parse_ratios(WISH), parse_ratios("val = .1, test=0.10 ,train=0.8")):
        assert [*expected.items()] == [*found.items()]


@given(parts=st.lists(st.integers(1, 10**6), min_size=1, max_size=5))
def test_a_recipe_gives_the_same_shares_back(parts: list[int]) -> None:
    """Through the float of the manifest and back, exactly."""
    last = 10**7 - sum(parts)
    wish = ",".join(f"s{i}=0.{part:07d}" for i, part in enumerate([*parts, last]))
    ratios = parse_ratios(wish)
    rules = rules_of(splits={name: float(ratio) for name, ratio in ratios.items()})
    assert ratios == dict(zip(rules.splits, rules.ratios, strict=True))


def test_groups_fall_by_their_shares() -> None:
    """20,000 groups land within one per cent of the wish."""
    hashes = group_hashes((f"speaker {i}" for i in range(20_000)), seed=0)
    counts = np.bincount(split_of(hashes, SHARES), minlength=3) / 20_000
    assert np.allclose([0.1, 0.8, 0.1], counts, atol=0.01)


def test_the_hash_is_fixed_for_ever() -> None:
    """These numbers were written down once: another answer would move groups between splits."""
    found = group_hashes(["alice", "bob", "", "Zoë"], seed=7).tolist()
    assert [
        7824282717244976565,
        5671057391190796441,
        10949533377631877996,
        3086259249077356721,
    ] == found


@given(
    seed=st.integers(0, 2**63 - 1),
    few=st.lists(st.text(max_size=20), max_size=20),
    more=st.lists(st.text(max_size=20), max_size=20),
)
def test_adding_groups_moves_none(seed: int, few: list[str], more: list[str]) -> None:
    """A group's split does not depend on the other groups."""
    before = split_of(group_hashes(few, seed=seed), SHARES).tolist()
    after = split_of(group_hashes([*more, *few], seed=seed), SHARES).tolist()
    assert before == after[len(more) :]


def test_the_ends_of_the_range_belong_to_the_outer_splits() -> None:
    """Hash 0 lies in the first split, the greatest one in the last, a bound in the upper one."""
    bound = int(Fraction(1, 10) * 2**64)
    hashes = np.array([0, bound - 1, bound, 2**64 - 1], dtype=np.uint64)
    assert [0, 0, 1, 2] == split_of(hashes, SHARES).tolist()


def test_one_split_takes_all() -> None:
    """Without a bound there is nothing to search."""
    ends = np.array([0, 2**64 - 1], dtype=np.uint64)
    assert [0, 0] == split_of(ends, [Fraction(1)]).tolist()
