import math
from ctypes import ArgumentError

import numpy as np
import pytest
from audioloom_audio_native import best_level, peak, signal
from audioloom_audio_native.samples import MEAN
from hypothesis import given, settings
from hypothesis import strategies as st

LEVELS = [number for number in (3, 4) if number <= best_level()]
TABLE = np.random.default_rng(0).uniform(-1, 1, 256).astype(np.float32)


@pytest.mark.parametrize("level", LEVELS)
@given(frames=st.integers(0, 100), channels=st.integers(1, 5), seed=st.integers(0))
@settings(max_examples=40, deadline=None)
def test_a_signal_is_its_channel_or_the_mean_of_two(
    level: int, frames: int, channels: int, seed: int
) -> None:
    """16-bit samples and bytes with a table, the same bits as NumPy's."""
    random = np.random.default_rng(seed)
    codes = random.integers(-32768, 32768, (frames, channels)).astype(np.int16)
    places = random.integers(0, 256, (frames, channels)).astype(np.uint8)
    numbers = [*range(channels), *([MEAN] if channels <= 2 else [])]

    for number in numbers:
        chosen = slice(None) if number == MEAN else slice(number, number + 1)
        plain = (codes[:, chosen] / 32768).mean(axis=1).astype(np.float32)
        looked_up = TABLE[places][:, chosen].mean(axis=1)
        assert plain.tobytes() == signal(codes, number, level=level).tobytes()
        assert looked_up.tobytes() == signal(places, number, TABLE, level=level).tobytes()


@pytest.mark.parametrize("level", LEVELS)
@given(
    samples=st.lists(st.floats(width=32, allow_nan=False), max_size=70),
    places=st.lists(st.integers(0, 70), max_size=1),
)
@settings(max_examples=100, deadline=None)
def test_the_peak_is_the_largest_magnitude_and_nan_where_one_is(
    level: int, samples: list[float], places: list[int]
) -> None:
    """Infinity and nothing at all included."""
    expected = max(map(abs, samples), default=0.0)
    for place in places:
        samples.insert(place, math.nan)
        expected = math.nan

    actual = peak(np.array(samples, np.float32), level=level)

    assert expected == actual or (math.isnan(expected) and math.isnan(actual))


def test_the_peak_of_every_second_sample() -> None:
    """A view is not contiguous."""
    assert 3.0 == peak(np.array([1, 9, -3, 9, 2, 9], np.float32)[::2])


@pytest.mark.parametrize(
    ("codes", "number", "table"),
    [
        (np.zeros((4, 2), np.int32), 0, None),
        (np.zeros((4, 2), np.uint8), 0, None),
        (np.zeros((4, 2), np.int16), 0, TABLE),
        (np.zeros((4, 4), np.int16)[:, ::2], 0, None),
        (np.zeros((4, 2), np.uint8), 0, TABLE[:255]),
        (np.zeros((4, 2), np.uint8), 0, TABLE.astype(np.float64)),
        (np.zeros((4, 2), np.int16), 2, None),
        (np.zeros((4, 2), np.int16), -2, None),
        (np.zeros((4, 3), np.int16), MEAN, None),
    ],
)
def test_what_c_would_misread_is_refused(
    codes: np.ndarray, number: int, table: np.ndarray | None
) -> None:
    """The functions of C take what they are given."""
    with pytest.raises(ValueError, match="expected"):
        signal(codes, number, table)


@pytest.mark.parametrize("samples", [np.zeros(3), np.zeros((3, 1), np.float32)])
def test_a_peak_of_anything_but_plain_samples_is_refused(samples: np.ndarray) -> None:
    """So is one of float64."""
    with pytest.raises(ArgumentError):
        peak(samples)
