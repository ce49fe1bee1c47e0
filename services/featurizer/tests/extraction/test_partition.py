from __future__ import annotations

from typing import Any

import pytest
from audioloom_featurizer.errors import BadInventory
from audioloom_featurizer.extraction.partition import (
    MOST_LARGEST,
    commit_units,
    default_recordings,
    parse_units,
    partition,
    unit_id,
)
from audioloom_storage import locate
from hypothesis import given
from hypothesis import strategies as st

SOURCE = locate("/source")


def rows_of(sizes: list[int]) -> list[dict[str, Any]]:
    return [
        {"path": f"{number:04}.wav", "member": None, "size": size}
        for number, size in enumerate(sizes)
    ]


@given(st.lists(st.integers(0, 50)), st.integers(1, 100), st.integers(1, 10))
def test_units_cover_every_row_once_within_bounds(
    sizes: list[int], most_bytes: int, most_recordings: int
) -> None:
    """Units follow each other without gap, and pass a bound only with a single row."""
    rows = rows_of(sizes)
    units = list(partition(rows, SOURCE, most_bytes=most_bytes, most_recordings=most_recordings))
    at = 0
    for unit in units:
        mine = rows[at : at + unit.recordings]
        assert (at, sum(row["size"] for row in mine)) == (unit.first, unit.bytes)
        assert unit_id(mine) == unit.id
        assert 1 <= unit.recordings <= most_recordings
        assert unit.bytes <= most_bytes or unit.recordings == 1
        at += unit.recordings
    assert len(rows) == at


@given(st.lists(st.integers(0, 5), min_size=1))
def test_the_largest_of_a_unit_come_largest_first(sizes: list[int]) -> None:
    """Those of equal size in the order of the inventory; at most `MOST_LARGEST`."""
    (unit,) = partition(rows_of(sizes), SOURCE, most_bytes=1 << 30, most_recordings=1000)
    expected = sorted(rows_of(sizes), key=lambda row: -row["size"])[:MOST_LARGEST]
    assert tuple(SOURCE / row["path"] for row in expected) == unit.largest


@pytest.mark.parametrize(
    ("container", "offset", "units"),
    [("a.tar", 512, [2, 2, 1]), ("a.zip", None, [2, 2, 1]), ("a.tar.gz", None, [5])],
)
def test_a_container_that_is_read_in_sequence_is_one_unit(
    container: str, offset: int | None, units: list[int]
) -> None:
    """It would be read from its beginning in each of several; with what is beside it as usual."""
    inside = [
        {"path": f"{container}/{name}", "member": name, "offset": offset, "size": 1}
        for name in "abcde"
    ]
    around = rows_of([1, 1])
    rows = [around[0], *inside, around[1]]
    found = [unit.recordings for unit in partition(rows, SOURCE, most_bytes=9, most_recordings=2)]
    alone = partition(inside, SOURCE, most_bytes=9, most_recordings=2)
    assert units == [unit.recordings for unit in alone]
    assert [6, 1] == found if len(units) == 1 else [2, 2, 2, 1] == found


def test_another_row_is_another_unit() -> None:
    """An id depends on everything that a row says."""
    one, other = rows_of([1, 2]), rows_of([1, 3])
    assert unit_id(one) != unit_id(other)


def test_the_number_of_units_fits_small_and_large_sets() -> None:
    """Small sets are spread over the cores, large ones do not drown in small files."""
    assert [20, 20, 54, 1000, 1000] == [
        default_recordings(count) for count in (1, 640, 1705, 32_000, 10**8)
    ]


def test_a_plan_that_stands_must_be_the_same(tmp_path: Any) -> None:
    """Equal units are taken as they lie there; others are refused, damaged ones too."""
    folder = locate(tmp_path / "run")
    units = list(partition(rows_of([1, 2, 3]), SOURCE, most_bytes=9, most_recordings=1))
    assert commit_units(folder, units) == commit_units(folder, units)
    with pytest.raises(BadInventory, match=r"units\.parquet"):
        commit_units(folder, units[:2])
    with pytest.raises(BadInventory, match="Parquet"):
        parse_units(b"PAR1 of no kind", "here")
