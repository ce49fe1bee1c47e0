"""Features by functions: librosa's own, and what becomes of functions that fail."""

from __future__ import annotations

import io
from collections.abc import Callable

import librosa
import numpy as np
import pytest
from audio_opening import refused
from audioloom_audio import BadSettings, ExtractionSettings, Function, extract
from numpy.typing import NDArray

CHROMA = """
import librosa

def chroma(samples, rate, n_chroma=12):
    return librosa.feature.chroma_stft(y=samples, sr=rate, n_chroma=n_chroma, tuning=0.0)
"""
VECTOR = """
import numpy as np

def levels(samples, rate):
    return np.sqrt(np.mean(samples.reshape(4, -1) ** 2, axis=1))
"""


def settings_of(source: str, name: str, **arguments: float) -> ExtractionSettings:
    function = Function("own.py", source, name, tuple(sorted(arguments.items())))
    return ExtractionSettings(feature=function, window_seconds=1.0, windows="all", normalise="none")


def wave(make_wave: Callable[..., bytes], samples: NDArray[np.float32]) -> io.BytesIO:
    return io.BytesIO(make_wave((samples * 32767).astype("<i2").tobytes(), rate=16000))


def test_a_feature_of_librosa_is_the_functions_own(
    make_wave: Callable[..., bytes], voice: Callable[..., NDArray[np.float32]]
) -> None:
    """Window by window, the last one padded; the argument arrives."""
    file = wave(make_wave, voice(16000, 24_000))
    samples, _ = librosa.load(io.BytesIO(file.getvalue()), sr=16000)
    windows = list(extract(file, settings_of(CHROMA, "chroma", n_chroma=24)))
    assert [(24, 32)] * 2 == [each.values.shape for each in windows]
    assert [32, 16] == [each.valid_frames for each in windows]
    padded = np.pad(samples[16_000:], (0, 8_000))
    for part, window in zip((samples[:16_000], padded), windows, strict=True):
        expected = librosa.feature.chroma_stft(y=part, sr=16000, n_chroma=24, tuning=0.0)
        np.testing.assert_array_equal(expected.astype(np.float32), window.values)


def test_a_vector_is_one_frame(make_wave: Callable[..., bytes]) -> None:
    """Four numbers of a window are four coefficients."""
    file = wave(make_wave, np.full(16_000, 0.5, np.float32))
    (window,) = extract(file, settings_of(VECTOR, "levels"))
    assert (4, 1) == window.values.shape
    assert [0.5] * 4 == pytest.approx(window.values.ravel(), abs=1e-4)
    assert 1 == window.valid_frames


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("def f(samples, rate): return samples[:0]", r"shape \(0,\)"),
        ("def f(samples, rate): return [[[1.0]]]", r"shape \(1, 1, 1\)"),
        ("def f(samples, rate): return ['a']", r"real numbers .* found <U1"),
        ("def f(samples, rate): return [1j]", "complex128"),
        ("def f(samples, rate): return [float('nan')]", "NaN or infinity"),
        ("def f(samples, rate): raise KeyError('x')", "KeyError: 'x'"),
        ("def f(samples): return [1.0]", "TypeError"),
        ("def g(samples, rate): return [1.0]", "a function 'f' in own.py, found none"),
        ("f = 1", "a function 'f' in own.py, found none"),
        ("import a_module_that_is_not_there", "ModuleNotFoundError"),
        ("def f(", "SyntaxError"),
        ("def f(samples, rate): samples[0] = 1; return samples", "read-only"),
    ],
)
def test_a_function_that_returns_no_feature_is_refused(source: str, text: str) -> None:
    """Before any recording is read: it is called with noise first."""
    with pytest.raises(BadSettings, match=f"feature: expected .*{text}"):
        settings_of(source, "f")


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("1 / 0", "found ZeroDivisionError"),
        ("[[1.0, 2.0]]", r"the shape \(1, 1\) .* found \(1, 2\)"),
        ("[float('inf')]", "found NaN or infinity"),
    ],
)
def test_a_function_that_fails_refuses_the_recording(
    make_wave: Callable[..., bytes], body: str, text: str
) -> None:
    """Not the others: the window and the error are named."""
    source = f"def f(samples, rate):\n    return {body} if samples.max() > 0.9 else [1.0]\n"
    samples = np.full(32_000, 0.1, np.float32)
    samples[20_000] = 0.95
    with refused("function_failed", match=rf"{text}.* in the window at 1 s"):
        list(extract(wave(make_wave, samples), settings_of(source, "f"), name="x"))


def test_the_same_text_is_the_same_feature() -> None:
    """Its digest is that of the text; another name is another feature."""
    one, other = (Function("a.py", VECTOR, name) for name in ("levels", "other"))
    assert one == Function("a.py", VECTOR, "levels")
    assert one != other
    assert one.sha256 == other.sha256
