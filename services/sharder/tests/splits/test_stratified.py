"""Whole groups, shared out label by label: what holds whatever the data."""

from __future__ import annotations

import numpy as np
import pytest
from audioloom_sharder.splits.ratios import NO_SPLIT, parse_ratios
from audioloom_sharder.splits.stratified import stratify
from hypothesis import given, settings
from hypothesis import strategies as st

SHARES = tuple(parse_ratios("train=0.8,val=0.1,test=0.1").values())
TEST, TRAIN, VAL = range(3)

Counts = dict[tuple[int, int], int]
"""(group, label): records."""

few_labels = st.dictionaries(
    st.tuples(st.integers(0, 60), st.integers(0, 4)), st.integers(1, 30), max_size=80
)
one_label_each = st.lists(
    st.tuples(st.integers(0, 3), st.integers(1, 30)), min_size=1, max_size=80
).map(lambda pairs: {(group, label): size for group, (label, size) in enumerate(pairs)})


def _assign(counts: Counts, pinned: dict[int, int] | None = None) -> dict[int, int]:
    rows = sorted(counts)
    groups = np.array([group for group, _ in rows], np.uint64)
    different = np.unique(groups).tolist()
    pins = np.array([(pinned or {}).get(group, NO_SPLIT) for group in different], np.uint8)
    labels = np.array([label for _, label in rows], np.uint64)
    records = np.array([counts[row] for row in rows], np.int64)
    found = stratify(groups, labels, records, SHARES, pins)
    return dict(zip(different, found.tolist(), strict=True))


def _missing(counts: Counts, found: dict[int, int], label: int) -> list[float]:
    """Records of a label that each split lacks to its wish."""
    mine = {group: size for (group, one), size in counts.items() if one == label}
    total = sum(mine.values())
    return [
        float(share) * total - sum(mine[group] for group in mine if found[group] == number)
        for number, share in enumerate(SHARES)
    ]


def test_nothing_is_assigned_to_nothing() -> None:
    """No group, no answer."""
    assert {} == _assign({})


@given(counts=few_labels, data=st.data())
def test_every_group_has_one_split_and_pins_hold(counts: Counts, data: st.DataObject) -> None:
    """Whatever labels lie in a group, and wherever others are pinned."""
    groups = sorted({group for group, _ in counts})
    pins = {group: data.draw(st.integers(0, 2)) for group in groups[::3]}
    found = _assign(counts, pins)
    assert groups == sorted(found)
    assert {*found.values()} <= {TEST, TRAIN, VAL}
    assert pins == {group: found[group] for group in pins}


@given(sizes=st.lists(st.integers(1, 1000), min_size=1, max_size=200))
def test_one_label_is_shared_out_to_within_its_largest_group(sizes: list[int]) -> None:
    """No split gets more than its wish and one group; so none lacks more than two groups."""
    counts = {(group, 7): size for group, size in enumerate(sizes)}
    missing = _missing(counts, _assign(counts), 7)
    assert min(missing) >= -max(sizes)
    assert max(missing) <= 2 * max(sizes)


@given(counts=one_label_each)
def test_each_label_is_shared_out_whatever_the_others_do(counts: Counts) -> None:
    """With one label in each group: half a group more, for what other labels left."""
    found = _assign(counts)
    for label in {label for _, label in counts}:
        largest = max(size for (_, one), size in counts.items() if one == label)
        missing = _missing(counts, found, label)
        assert min(missing) >= -2 * largest
        assert max(missing) <= 4 * largest


@pytest.mark.parametrize("groups", [1, 2, 3])
def test_labels_of_few_groups_fill_the_small_splits_together(groups: int) -> None:
    """1,000 labels of so few groups cannot be in each split, yet each split has its records."""
    counts = {(label * groups + one, label): 1 for label in range(1000) for one in range(groups)}
    found = np.bincount(list(_assign(counts).values()), minlength=3) / len(counts)
    assert np.allclose([0.1, 0.8, 0.1], found, atol=0.01)


def test_rare_labels_come_first() -> None:
    """Ten groups of a rare label beside a thousand of a common one: 8, 1 and 1."""
    rare = {(group, 1): 5 for group in range(10)}
    common = {(10 + group, 0): 3 for group in range(1000)}
    found = _assign({**rare, **common})
    assert [1, 8, 1] == np.bincount([found[group] for group in range(10)]).tolist()
    assert [100, 800, 100] == np.bincount([found[group] for group in range(10, 1010)]).tolist()


def test_groups_of_several_labels_are_balanced_for_each() -> None:
    """400 groups with two labels each: every label is shared out to within two per cent."""
    counts = {
        (group, label): 1 + (group * 7 + label) % 5
        for group in range(400)
        for label in (group % 4, 4 + group % 3)
    }
    found = _assign(counts)
    for label in range(7):
        total = sum(size for (_, one), size in counts.items() if one == label)
        assert np.allclose(0, np.array(_missing(counts, found, label)) / total, atol=0.02)


@settings(max_examples=30)
@given(counts=few_labels, names=st.permutations(range(61)))
def test_the_answer_is_one_of_hashes_not_of_order(counts: Counts, names: list[int]) -> None:
    """Labels by other hashes change ties only: each label is shared out as well as before."""
    found = _assign(counts)
    assert found == _assign(dict(reversed(list(counts.items()))))
    other = _assign({(names[group], label): size for (group, label), size in counts.items()})
    assert len(found) == len(other)


def test_what_is_pinned_counts() -> None:
    """Where train is full already, what is new goes to the others."""
    old = {(group, 0): 1 for group in range(80)}
    new = {(100 + group, 0): 1 for group in range(20)}
    found = _assign({**old, **new}, dict.fromkeys(range(80), TRAIN))
    assert [10, 80, 10] == np.bincount(list(found.values())).tolist()
