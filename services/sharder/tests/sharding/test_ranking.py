"""Ranking range by range is ranking at once, whatever the files."""

from __future__ import annotations

import numpy as np
from audioloom_sharder.sharding.ranking import count_distinct, range_starts, ranges_for, ranks
from audioloom_sharder.windows.metadata_scan import SECTIONS
from hypothesis import given
from hypothesis import strategies as st


def _section(rows: list[tuple[int, int, int]]) -> np.ndarray:
    """A scan's records from (high, low, split), sorted."""
    section = np.array(
        [(high, low, split, row) for row, (high, low, split) in enumerate(rows)],
        dtype=SECTIONS["records"],
    )
    return section[np.lexsort((section["low"], section["high"]))]


uint64 = st.integers(0, 2**64 - 1)
row = st.tuples(uint64, uint64, st.integers(0, 2))
files = st.lists(st.lists(row, max_size=30), min_size=1, max_size=4)


@given(parts=files, ranges=st.integers(1, 9))
def test_ranges_together_rank_every_window_once(
    parts: list[list[tuple[int, int, int]]], ranges: int
) -> None:
    """Each split's ranks are 0 … n-1 in the order of the hashes."""
    everything = [one for part in parts for one in part]
    if len(set(everything)) < len(everything):
        return
    sections = [_section(part) for part in parts]
    starts = [range_starts(section["high"], ranges) for section in sections]
    slices = [
        [section[begin[r] : begin[r + 1]] for section, begin in zip(sections, starts, strict=True)]
        for r in range(ranges)
    ]
    counts = [np.bincount(np.concatenate(some)["split"], minlength=3).tolist() for some in slices]
    found = {}
    for number, some in enumerate(slices):
        answer, duplicate = ranks(some, np.array(counts)[:number].sum(axis=0))
        assert duplicate is None or len({one[:2] for one in everything}) < len(everything)
        for part, numbers in zip(some, answer, strict=True):
            for item, rank in zip(part, numbers.tolist(), strict=True):
                found[int(item["split"]), rank] = (int(item["high"]), int(item["low"]))
    for split in range(3):
        expected = sorted((high, low) for high, low, one in everything if one == split)
        assert expected == [found[split, rank] for rank in range(len(expected))]
    assert len(everything) == len(found)


def test_a_duplicate_is_found_across_files() -> None:
    """With the file and the row of both."""
    one, two = _section([(5, 5, 0), (7, 1, 1)]), _section([(9, 9, 0), (7, 1, 1)])
    _, duplicate = ranks([one, two], [0, 0])
    assert duplicate is not None
    assert ((0, 1), (1, 1)) == duplicate


def test_groups_are_counted_once() -> None:
    """A group in two files is one group, and its windows are added."""
    groups = [
        np.array([(1, 5, 0), (9, 2, 1)], dtype=SECTIONS["groups"]),
        np.array([(1, 6, 0)], dtype=SECTIONS["groups"]),
    ]
    pairs = [np.array([(3, 0), (4, 1)], dtype=SECTIONS["contents"])] * 2
    spread = [np.array([(3, 1)], dtype=SECTIONS["contents"])]
    found = count_distinct(groups, pairs, [*pairs, *spread], splits=2)
    assert ([1, 1], [1, 1], 11, 1) == (
        found.groups,
        found.recordings,
        found.largest_group,
        found.spread,
    )


def test_nothing_is_counted_as_nothing() -> None:
    """Empty slices of a range that nothing fell into."""
    none = [np.empty(0, dtype=SECTIONS["groups"])], [np.empty(0, dtype=SECTIONS["contents"])]
    found = count_distinct(none[0], none[1], none[1], splits=2)
    assert ([0, 0], [0, 0], 0, 0) == (
        found.groups,
        found.recordings,
        found.largest_group,
        found.spread,
    )


def test_ranges_grow_with_the_records() -> None:
    """Four million windows at a time."""
    assert [1, 1, 2] == [ranges_for(count) for count in (1, 1 << 22, (1 << 22) + 1)]
