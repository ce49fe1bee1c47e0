import io
import sys
from collections.abc import Callable

import librosa
import numpy as np
import pytest
from audio_settings import settings_of
from audioloom_audio import MissingDecoder, extract
from numpy.typing import NDArray


def test_values_are_those_of_librosa_bit_for_bit(
    make_wave: Callable[..., bytes], voice: Callable[..., NDArray[np.float32]]
) -> None:
    """Samples included: resampling is soxr's either way."""
    content = make_wave((voice(8000, 100_000) * 32767).astype("<i2").tobytes())
    samples, _ = librosa.load(io.BytesIO(content), sr=16000)
    expected = [
        librosa.feature.mfcc(y=samples[:160_000], sr=16000, n_mfcc=40),
        librosa.feature.mfcc(y=np.pad(samples[160_000:], (0, 120_000)), sr=16000, n_mfcc=40),
    ]

    settings = settings_of(windows="all", normalise="none", engine="librosa")
    actual = [window.values for window in extract(io.BytesIO(content), settings)]

    assert [values.tobytes() for values in expected] == [values.tobytes() for values in actual]


def test_without_librosa_the_message_says_what_to_install(
    make_wave: Callable[..., bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And is no refusal: the recording is fine."""
    monkeypatch.setitem(sys.modules, "librosa", None)

    with pytest.raises(MissingDecoder, match=r"pip install 'audioloom-audio\[librosa\]'"):
        extract(
            io.BytesIO(make_wave(bytes(100))), settings_of(engine="librosa", window_seconds=0.4)
        )
