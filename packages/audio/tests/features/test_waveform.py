"""Waveforms: the samples as they were decoded."""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
import pytest
from audio_opening import refused
from audioloom_audio import ExtractionSettings, Waveform, extract

WINDOWS = ExtractionSettings(
    feature=Waveform(), window_seconds=0.5, windows="all", normalise="none", sample_rate=8000
)


def test_the_samples_are_those_of_the_recording(make_wave: Callable[..., bytes]) -> None:
    """Cut into windows, the last one padded with zeros."""
    steps = np.random.default_rng(0).integers(-32768, 32767, 5000).astype("<i2")
    windows = list(extract(io.BytesIO(make_wave(steps.tobytes())), WINDOWS))
    assert [(1, 4000)] * 2 == [each.values.shape for each in windows]
    assert [4000, 1000] == [each.valid_frames for each in windows]
    found = np.concatenate([each.values[0] for each in windows])
    np.testing.assert_array_equal(np.pad(steps, (0, 3000)) / np.float32(32768), found)


def test_silence_is_flagged(make_wave: Callable[..., bytes]) -> None:
    """A step of 16 bits is none."""
    quiet, step = bytes(8000), (np.arange(4000) % 2).astype("<i2").tobytes()
    windows = list(extract(io.BytesIO(make_wave(quiet + step)), WINDOWS))
    assert [("silent",), ()] == [each.flags for each in windows]


@pytest.mark.filterwarnings("ignore:overflow")
def test_samples_too_large_for_float32_are_refused(make_wave: Callable[..., bytes]) -> None:
    """Their power overflows."""
    samples = np.full(4000, 1e30, "<f4")
    content = make_wave(samples.tobytes(), tag=3, bits=32)
    with refused("out_of_range", match="too large for float32"):
        list(extract(io.BytesIO(content), WINDOWS, name="x"))
