import math

import numpy as np
import pytest
from audioloom_audio.signal import codes


@pytest.mark.parametrize(
    ("samples", "expected"),
    [([], 0.0), ([0.25, -0.5], 0.5), ([0.5, -0.25], 0.5), ([-np.inf, 1.0], np.inf)],
)
def test_peak_is_the_largest_magnitude(samples: list[float], expected: float) -> None:
    """Of either sign."""
    assert expected == codes.peak(np.array(samples, np.float32))


@pytest.mark.parametrize("place", [0, 7, 99])
def test_nan_shows_in_the_peak(place: int) -> None:
    """Wherever it is."""
    samples = np.linspace(-1, 1, 100).astype(np.float32)
    samples[place] = np.nan

    assert math.isnan(codes.peak(samples))
