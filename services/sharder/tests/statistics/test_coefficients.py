from __future__ import annotations

import json

import numpy as np
import pytest
from audioloom_manifest.kinds import Feature
from audioloom_sharder.errors import BadFeatures
from audioloom_sharder.statistics.coefficients import (
    COEFFICIENT_SUMS,
    CoefficientSums,
    coefficient_sums,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays


def feature(values: np.ndarray) -> Feature:
    return Feature(
        name="mfcc",
        dtype=str(values.dtype),
        shape=values.shape[1:],
        sample_rate=16000,
        parameters={},
    )


def of(values: np.ndarray) -> CoefficientSums:
    windows = [one.tobytes() for one in values]
    return coefficient_sums(windows, feature(values), where="train 00000")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_no_numbers_are_refused(bad: float) -> None:
    """A mean of them would be none; the shard is named."""
    values = np.zeros((3, 2, 5), np.float32)
    values[1, 1, 3] = bad
    with pytest.raises(BadFeatures, match="train 00000"):
        of(values)


@settings(deadline=None)
@given(
    arrays.arrays(
        st.sampled_from([np.float32, np.float16]),
        st.tuples(st.integers(1, 150), st.integers(1, 3), st.integers(1, 7)),
        elements=st.floats(-100, 100, width=16),
    )
)
def test_they_are_mean_and_variance(values: np.ndarray) -> None:
    """Of all frames of all records, for each coefficient."""
    stats = of(values).stats()
    wide = values.astype(np.float64)
    np.testing.assert_allclose(stats.mean, wide.mean(axis=(0, 2)), atol=1e-6)
    np.testing.assert_allclose(stats.variance, wide.var(axis=(0, 2)), rtol=1e-5, atol=1e-4)


@settings(deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 40), st.integers(1, 5), st.sampled_from([1, 1e4, 1e9]))
def test_order_and_division_change_nothing(
    seed: int, records: int, parts: int, scale: float
) -> None:
    """Not one bit, however the records are spread over shards."""
    draw = np.random.default_rng(seed)
    values = draw.normal(0, scale, (records, 3, 11)).astype(np.float32)
    cut = np.array_split(values[draw.permutation(records)], parts)
    assert of(values) == sum((of(one) for one in cut if len(one)), CoefficientSums())


def test_they_travel_in_a_receipt() -> None:
    """Whole numbers beyond 2^53 too."""
    moments = CoefficientSums(3, (2**80, -1), (2**90, 5))
    sent = json.dumps(COEFFICIENT_SUMS.dump_python(moments, mode="json"))
    assert moments == COEFFICIENT_SUMS.validate_python(json.loads(sent, parse_int=float))


def test_of_a_constant_the_variance_is_zero() -> None:
    """And not a little less."""
    stats = of(np.full((7, 1, 313), 0.1, np.float32)).stats()
    assert 0.1 == pytest.approx(stats.mean[0])
    assert 0 <= stats.variance[0] < 1e-6
