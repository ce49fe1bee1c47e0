from __future__ import annotations

import math

import pytest
from audioloom_audio import ExtractionSettings, Waveform
from audioloom_featurizer.extraction.unit_bounds import FILE_BYTES, UnitBounds, default_bounds
from hypothesis import given
from hypothesis import strategies as st

WINDOW = 40 * 313 * 4


@pytest.mark.parametrize(
    ("recordings", "each", "windows", "units", "file_bytes"),
    [
        (100, 300_000, "first", 5, 20 * WINDOW),
        (640, 300_000, "first", 32, 20 * WINDOW),
        (32_000, 200_000, "first", 32, 1000 * WINDOW),
        (10**7, 10 * 10**6, "first", 2000, 5000 * WINDOW),  # 100 TB: 250 MB a file
        (10**9, 10 * 10**6, "first", 93_284, FILE_BYTES),
        (10**7, 10 * 10**6, "all", 29_155, FILE_BYTES),  # of 16 kHz
    ],
)
def test_files_of_a_large_set_are_large(
    recordings: int, each: int, windows: str, units: int, file_bytes: int
) -> None:
    """Their number decides what the sharder costs; a small set is spread over the cores."""
    settings = ExtractionSettings(windows=windows)  # type: ignore[arg-type]
    bounds = default_bounds(settings, recordings, recordings * each)
    in_unit = min(bounds.recordings, bounds.bytes // each)
    seconds = each / 2 / settings.sample_rate
    made = in_unit * (1 if windows == "first" else max(1, seconds / 10)) * WINDOW
    assert pytest.approx(units, rel=0.02) == math.ceil(recordings / in_unit)
    assert pytest.approx(file_bytes, rel=0.05) == made


def test_other_features_have_other_bounds() -> None:
    """By the bytes of a window: of both channels, in the type of the values."""
    wide = ExtractionSettings(feature=Waveform(), channels="split", windows="all")
    found = default_bounds(wide, 10**7, 10**14)
    assert UnitBounds(bytes=419 * 640_000, recordings=419) == found
    half = default_bounds(ExtractionSettings(feature=Waveform(), dtype="float16"), 10**9, 10**14)
    assert FILE_BYTES // (160_000 * 2) == half.recordings


@given(
    st.integers(0, 10**11),
    st.integers(0, 10**17),
    st.sampled_from(["first", "all"]),
    st.floats(0.1, 3600),
)
def test_every_set_has_bounds(recordings: int, size: int, windows: str, seconds: float) -> None:
    """A unit takes at least one recording, and no more than fill a file."""
    settings = ExtractionSettings(windows=windows, window_seconds=seconds)  # type: ignore[arg-type]
    bounds = default_bounds(settings, recordings, size)
    window = math.prod(settings.shape) * 4
    assert bounds.bytes >= 1
    assert 1 <= bounds.recordings <= max(1, FILE_BYTES // window)
