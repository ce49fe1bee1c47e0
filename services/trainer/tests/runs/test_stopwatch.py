"""The classes of a process's wall time sum to it, whatever is entered, left and moved."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest
from audioloom_runs.goodput import MEASURED
from audioloom_trainer.runs.stopwatch import Stopwatch
from hypothesis import given
from hypothesis import strategies as st


class Clock:
    """Seconds that pass when a test says so."""

    now = 50.0

    def __call__(self) -> float:
        return self.now


ACTIONS = st.tuples(
    st.sampled_from(["enter", "move"]), st.sampled_from(MEASURED), st.floats(-9, 99)
)


@given(st.lists(ACTIONS), st.floats(0, 100))
def test_classes_sum_to_the_time_that_has_passed(
    actions: list[tuple[str, str, float]], age: float
) -> None:
    """No class is negative, and moving more than there is takes all that there is."""
    clock = Clock()
    watch = Stopwatch(age, clock)
    for action, name, amount in actions:
        clock.now += abs(amount)
        if action == "enter":
            watch.enter(name)
        else:
            watch.move(amount, name)
    seconds = watch.line()["seconds"]
    assert clock.now - 50.0 + age == pytest.approx(sum(seconds.values()), abs=0.01)
    assert all(value >= 0 for value in seconds.values())


def test_a_block_counts_for_its_class_and_an_error_ends_it() -> None:
    """Also inside another block."""
    clock = Clock()
    watch = Stopwatch(0.0, clock)
    watch.enter("steps")
    with suppress(ValueError), watch.during("evaluation"):
        clock.now += 1.0
        with watch.during("tracing"):
            clock.now += 2.0
        clock.now += 4.0
        raise ValueError
    clock.now += 8.0
    assert {"evaluation": 5.0, "tracing": 2.0, "steps": 8.0} == watch.line()["seconds"]


def test_only_the_first_of_a_process_counts_from_its_begin() -> None:
    """The others begin when they are made; each says when it began."""
    Stopwatch.of_process()
    before = time.time()
    second = Stopwatch.of_process().line()
    assert before - 0.01 <= second["since"] <= time.time() + 0.01
