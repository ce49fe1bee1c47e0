from __future__ import annotations

import pytest
from audioloom_featurizer.extraction.mtime import same_time, utc
from hypothesis import given
from hypothesis import strategies as st

SECOND = 10**9
NOON = 1769860800 * SECOND
TIMES = st.integers(0, 2**62)


@given(TIMES, st.sampled_from([1, 1000, 10**6, SECOND, 60 * SECOND]))
def test_what_a_listing_rounded_down_is_the_same(found: int, resolution: int) -> None:
    """Whatever the listing could tell: the file need not have changed."""
    assert same_time(found // resolution * resolution, found)


@given(TIMES, st.integers(1, 2**62))
def test_another_time_is_another(listed: int, later: int) -> None:
    """Times to the nanosecond are compared to the nanosecond, both ways."""
    listed += listed % 10 == 0
    assert not same_time(listed, listed + later)
    after = listed + later
    after += after % 10 == 0
    assert not same_time(after, listed)


@pytest.mark.parametrize(
    ("listed", "found", "same"),
    [
        (NOON + 7 * SECOND, NOON + 7 * SECOND + 999_999_999, True),
        (NOON + 7 * SECOND, NOON + 8 * SECOND, False),
        (NOON + 7 * SECOND, NOON + 7 * SECOND - 1, False),
        (NOON + 7_001_000_000, NOON + 7_001_999_999, True),
        (NOON + 7_001_000_000, NOON + 7_002_000_000, False),
        (NOON, NOON + 59 * SECOND, True),
        (NOON, NOON + 60 * SECOND, False),
        (None, NOON, True),
    ],
)
def test_as_far_as_the_listing_tells(listed: int | None, found: int, same: bool) -> None:
    """Seconds, the milliseconds of HDFS, and the minutes of an fsimage's dump."""
    assert same == same_time(listed, found)


def test_a_time_is_shown_to_the_nanosecond() -> None:
    """And one that no calendar has as a number."""
    assert "2026-01-31T12:00:00.000000007Z" == utc(NOON + 7)
    assert f"{2**63 - 1}" in utc(2**63 - 1) or utc(2**63 - 1).startswith("2262-")
    assert "1000000000000000000000 ns since 1970" == utc(10**21)
