"""Where the time of a training goes."""

from __future__ import annotations

import pytest
from audioloom_trainer.runs.timeline import (
    MOST_INTERVALS,
    Interval,
    Timeline,
    bottleneck,
    summed,
    thinned,
    waiting,
)
from hypothesis import given
from hypothesis import strategies as st

SHARES = st.floats(0, 1)
STEPS = st.lists(
    st.builds(
        Interval,
        step=st.just(0),
        steps=st.integers(1, 16),
        seconds=st.floats(1e-4, 10),
        wait=SHARES,
        storage=SHARES,
    ),
    min_size=1,
    max_size=3 * MOST_INTERVALS,
)


def test_nothing_cannot_be_summed() -> None:
    """A mean of no step is nothing that anyone could be told."""
    with pytest.raises(ValueError, match="at least one interval"):
        summed([])


@given(
    st.floats(0, 1e5),
    st.floats(1e-3, 5),
    st.lists(st.floats(0, 3), min_size=1, max_size=16),
)
def test_waiting_is_found_without_looking_inside(
    start: float, step: float, gaps: list[float]
) -> None:
    """Batches come when they come: a block that is computed as told gives its waits away."""
    now, ready, waited, produced = start, start - 2, 0.0, []
    for gap in gaps:
        ready += gap
        produced.append(ready)
        waited += max(0.0, ready - now)
        now = max(now, ready) + step
    assert waiting(start, now, produced) == pytest.approx(waited, abs=1e-4)


def test_no_step_waits_for_nothing() -> None:
    """A block without a step, and a clock that stood still."""
    assert 0.0 == waiting(5.0, 6.0, [])
    assert 0.0 == waiting(5.0, 5.0, [4.0])


@given(STEPS)
def test_merging_loses_no_step_and_no_second(intervals: list[Interval]) -> None:
    """However long the run: bounded memory, the same sums."""
    timeline = Timeline()
    for each in intervals:
        timeline.add(each)
    assert len(timeline.intervals) <= MOST_INTERVALS
    expected, found = summed(intervals), summed(timeline.intervals)
    assert expected.steps == found.steps
    assert (expected.seconds, expected.wait, expected.storage) == pytest.approx(
        (found.seconds, found.wait, found.storage)
    )


@given(STEPS, st.integers(1, 20))
def test_no_more_than_asked_for_and_no_step_is_lost(intervals: list[Interval], most: int) -> None:
    """For a plot: few points, the same steps."""
    found = thinned(intervals, most)
    assert len(found) <= most
    assert summed(intervals).steps == sum(each.steps for each in found)


def test_shares_weigh_what_took_longer() -> None:
    """A slow step that waits says more than a quick one that does not."""
    assert Interval(3, 3, 2.0, 0.5, 0.25) == summed(
        [Interval(1, 2, 1.5, 0.0, 0.0), Interval(3, 1, 3.0, 1.0, 0.5)]
    )


@pytest.mark.parametrize(
    ("wait", "storage", "expected"),
    [
        (0.0, 0.0, "device"),
        (0.049, 0.049, "device"),
        (0.4, 0.3, "storage"),
        (0.4, 0.1, "decode"),
    ],
)
def test_the_bottleneck_is_what_steps_wait_for(wait: float, storage: float, expected: str) -> None:
    """Little waiting means that the devices are the limit."""
    assert expected == bottleneck([Interval(1, 1, 1.0, wait, storage)])


def test_without_a_step_nothing_was_waited_for() -> None:
    """A run that was resumed after its last step has none."""
    assert "device" == bottleneck([])
