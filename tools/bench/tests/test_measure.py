from __future__ import annotations

import time

import pytest
from audioloom_bench.measure import measure


def spin(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


@pytest.mark.slow
def test_ratios_follow_the_work() -> None:
    """A lane that does a quarter of the naive lane's work is about four times the naive lane."""
    lanes = measure(
        {"naive": lambda: spin(0.4), "ours": lambda: spin(0.1), "floor": lambda: spin(0.05)},
        amount=1,
        unit="x",
        input_name="i",
        rounds=3,
    )
    naive, ours, floor = lanes
    assert (1.0, 1.0) == (naive.vs_naive, floor.vs_floor)
    assert 3 < ours.vs_naive < 5
    assert ours.vs_floor < 1


def test_what_slows_a_whole_round_does_not_count() -> None:
    """Ratios are those of a round; every other round goes backwards, so nobody is always first."""
    order: list[str] = []
    now = 0.0

    def work(name: str, seconds: float) -> None:
        nonlocal now
        now += seconds * 10 ** (len(order) // 2)  # the machine gets slower
        order.append(name)

    naive, floor = measure(
        {"naive": lambda: work("naive", 4), "floor": lambda: work("floor", 1)},
        amount=1,
        unit="x",
        input_name="i",
        rounds=2,
        clock=lambda: now,
    )
    assert ["naive", "floor", "naive", "floor", "floor", "naive"] == order
    assert (1.0, 4.0, 0.25) == (naive.vs_naive, floor.vs_naive, naive.vs_floor)
