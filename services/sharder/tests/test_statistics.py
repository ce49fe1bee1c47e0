from __future__ import annotations

import json
from statistics import mean, pvariance

import numpy as np
import pytest
from audioloom_manifest.kinds import Feature
from audioloom_sharder.errors import BadFeatures
from audioloom_sharder.statistics import (
    COEFFICIENT_SUMS,
    MOST_TARGET,
    CoefficientSums,
    TargetSums,
    coefficient_sums,
    target_sums,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
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


def feature(values: np.ndarray) -> Feature:
    return Feature(
        name="mfcc",
        dtype=str(values.dtype),
        shape=values.shape[1:],
        sample_rate=16000,
        parameters={},
    )


def of(values: np.ndarray) -> CoefficientSums:
    return coefficient_sums(values.tobytes(), feature(values), where="features/made")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_no_numbers_are_refused(bad: float) -> None:
    """A mean of them would be none; the file is named."""
    values = np.zeros((3, 2, 5), np.float32)
    values[1, 1, 3] = bad
    with pytest.raises(BadFeatures, match="features/made"):
        of(values)


@settings(deadline=None)
@given(
    arrays.arrays(
        st.sampled_from([np.float32, np.float16]),
        st.tuples(st.integers(1, 150), st.integers(1, 3), st.integers(1, 7)),
        elements=st.floats(-100, 100, width=16),
    )
)
def test_of_coefficients_they_are_mean_and_variance(values: np.ndarray) -> None:
    """Of all frames of all records, for each coefficient."""
    stats = of(values).stats()
    wide = values.astype(np.float64)
    np.testing.assert_allclose(stats.mean, wide.mean(axis=(0, 2)), atol=1e-6)
    np.testing.assert_allclose(stats.variance, wide.var(axis=(0, 2)), rtol=1e-5, atol=1e-4)


@settings(deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 40), st.integers(1, 5), st.sampled_from([1, 1e4, 1e9]))
def test_of_coefficients_order_and_division_change_nothing(
    seed: int, records: int, parts: int, scale: float
) -> None:
    """Not one bit, however the records are spread over shards."""
    draw = np.random.default_rng(seed)
    values = draw.normal(0, scale, (records, 3, 11)).astype(np.float32)
    cut = np.array_split(values[draw.permutation(records)], parts)
    assert of(values) == sum((of(one) for one in cut if len(one)), CoefficientSums())


def test_of_coefficients_they_travel_in_a_receipt() -> None:
    """Whole numbers beyond 2^53 too."""
    moments = CoefficientSums(3, (2**80, -1), (2**90, 5))
    sent = json.dumps(COEFFICIENT_SUMS.dump_python(moments, mode="json"))
    assert moments == COEFFICIENT_SUMS.validate_python(json.loads(sent, parse_int=float))


def test_of_a_constant_the_variance_is_zero() -> None:
    """And not a little less."""
    stats = of(np.full((7, 1, 313), 0.1, np.float32)).stats()
    assert 0.1 == pytest.approx(stats.mean[0])
    assert 0 <= stats.variance[0] < 1e-6
