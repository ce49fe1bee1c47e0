from __future__ import annotations

import json
from statistics import mean, pvariance

import numpy as np
import pytest
from audioloom_sharder.statistics.sums import MOST_TARGET, TargetSums, target_sums
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

NUMBERS = st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1)


def test_of_nothing_there_is_no_mean() -> None:
    """A split that has no numbers says nothing of them."""
    assert target_sums([]).stats() is None


@given(NUMBERS, st.randoms(use_true_random=False), st.integers(0, 20))
def test_order_and_division_change_nothing(numbers: list[float], random: object, cut: int) -> None:
    """Not one bit, from the smallest number that a record can hold to the largest."""
    whole = target_sums(numbers)
    random.shuffle(numbers)  # type: ignore[attr-defined]
    assert whole == target_sums(numbers[:cut]) + target_sums(numbers[cut:])


@given(NUMBERS)
def test_they_are_mean_and_variance(numbers: list[float]) -> None:
    """Both correctly rounded; the variance is that of the population."""
    stats = target_sums(numbers).stats()
    assert stats is not None
    assert (mean(numbers), pvariance(numbers)) == (stats.mean, stats.variance)


def test_they_are_of_what_records_hold() -> None:
    """A record holds float32, so a tenth is a little more than that."""
    stats = target_sums([0.1, 0.1]).stats()
    assert (float(np.float32(0.1)), 0.0) == (stats.mean, stats.variance)


@pytest.mark.parametrize("numbers", [[MOST_TARGET, -MOST_TARGET], [2.0**-149] * 3, [-999, 3.5]])
def test_they_travel_in_a_receipt(numbers: list[float]) -> None:
    """Whole numbers of hundreds of digits too."""
    targets = target_sums(numbers)
    adapter = TypeAdapter(TargetSums)
    sent = json.dumps(adapter.dump_python(targets, mode="json"))
    assert targets == adapter.validate_python(json.loads(sent, parse_int=float))
