import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import librosa
import numpy as np
import pytest
from audio_settings import settings_of
from audioloom_audio import ExtractionSettings, LogMel, Mfcc
from audioloom_audio.settings import transform_for
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

SETTINGS = settings_of(window_seconds=2.0)
ENGINES = ("numpy", "native")
LOG_MEL_DECIBELS = 3e-4
SAMPLES = SETTINGS.window.samples
TIME = np.arange(SAMPLES) / 16000
NOISE = np.random.default_rng(0).standard_normal(SAMPLES)

SIGNALS = {
    "silence": 0 * TIME,
    "one click": np.where(np.arange(SAMPLES) == 5000, 1.0, 0.0),
    "clicks": np.where(NOISE > 3, 0.9, 0.0),
    "noise": 0.1 * NOISE,
    "whisper": 1e-4 * NOISE,
    "noise at full scale": np.clip(NOISE, -1, 1),
    "tone": np.sin(2 * np.pi * 997 * TIME),
    "chirp": 0.4 * np.sin(2 * np.pi * (200 + 1500 * TIME) * TIME),
    "hum": 0.9 * np.sin(2 * np.pi * 50 * TIME) + 3e-3 * NOISE,
    "offset": 0.5 + 1e-3 * NOISE,
    "key press": 0.3 * (np.sin(2 * np.pi * 697 * TIME) + np.sin(2 * np.pi * 1209 * TIME))
    + 2e-4 * NOISE,
    "whisper before a shout": np.where(TIME < 1, 1e-4, 0.9) * NOISE,
    "out of range by 40 dB": 100 * NOISE,
} | {
    f"tone over noise at {level} dB": 0.5 * np.sin(2 * np.pi * 440 * TIME)
    + 10 ** (level / 20) * NOISE
    for level in (-40, -50, -60, -65, -70, -80)
}


def _compute(
    samples: NDArray[np.floating], valid: int = SAMPLES, **changes: Any
) -> NDArray[np.float32]:
    return _values(samples, settings_of(**({"window_seconds": 2.0} | changes)), valid)


def _values(
    samples: NDArray[np.floating], wanted: ExtractionSettings, valid: int | None = None
) -> NDArray[np.float32]:
    transform = transform_for(wanted)
    padded = np.pad(samples.astype(np.float32), transform.margin)
    return transform.values(*transform.analyse(padded, valid or len(samples)))


def _normalised(values: NDArray[np.float32]) -> NDArray[np.float32]:
    deviation = values.std()
    return (values - values.mean()) / deviation if deviation else 0 * values


def _assert_within_contract(expected: NDArray[np.float32], actual: NDArray[np.float32]) -> None:
    assert expected.shape == actual.shape
    assert np.float32 == actual.dtype
    difference = np.abs(expected - actual)
    assert 3e-4 >= difference[0].max()
    assert 1e-4 >= difference[1:].max(initial=0)
    assert 1e-5 >= np.abs(_normalised(expected) - _normalised(actual)).max()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("signal", SIGNALS)
def test_coefficients_are_those_of_librosa_within_the_contract(signal: str, engine: str) -> None:
    """c0 3e-4, the others 1e-4, normalised 1e-5; a float32 FFT alone fails on half of these."""
    samples = SIGNALS[signal].astype(np.float32)
    expected = librosa.feature.mfcc(y=samples, sr=16000, n_mfcc=40)

    _assert_within_contract(expected, _compute(samples, engine=engine))


@pytest.mark.parametrize(
    "changes",
    [
        {"n_mfcc": 13},
        {"n_mfcc": 128},
        {"n_mfcc": 1},
        {"n_mels": 40, "n_mfcc": 20},
        {"n_fft": 512, "hop_length": 160, "n_mels": 64},
        {"n_fft": 400, "hop_length": 160, "n_mels": 40, "n_mfcc": 13},
        {"n_fft": 8192, "hop_length": 2048},
        {"hop_length": 2048},
        {"hop_length": 7, "window_seconds": 0.1},
        {"sample_rate": 8000},
        {"sample_rate": 44100},
        {"top_db": 20.0},
        {"top_db": 200.0},
        {"window_seconds": 0.001},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:Empty filters detected")
@pytest.mark.filterwarnings("ignore:n_fft=.* is too large")
def test_other_settings_agree_too(
    changes: dict[str, int], voice: Callable[..., NDArray[np.float32]]
) -> None:
    """Each number reaches the place where librosa has it."""
    wanted = settings_of(**({"window_seconds": 2.0} | changes))  # type: ignore[arg-type]
    samples = voice(wanted.sample_rate, wanted.window.samples)

    actual = _values(samples, wanted)

    assert wanted.shape == actual.shape
    _assert_within_contract(_by_librosa(samples, wanted), actual)


def _by_librosa(samples: NDArray[np.float32], wanted: ExtractionSettings) -> NDArray[np.float32]:
    """The same feature by librosa's functions for users."""
    feature = wanted.feature
    assert isinstance(feature, Mfcc | LogMel)
    power = librosa.feature.melspectrogram(
        y=samples,
        sr=wanted.sample_rate,
        n_fft=feature.n_fft,
        hop_length=feature.hop_length,
        n_mels=feature.n_mels,
        fmin=feature.fmin,
        fmax=feature.fmax,
    )
    levels = librosa.power_to_db(power, top_db=feature.top_db)
    if isinstance(feature, LogMel):
        return np.asarray(levels)
    return np.asarray(librosa.feature.mfcc(S=levels, n_mfcc=feature.n_mfcc))


@st.composite
def geometries(draw: st.DrawFn) -> dict[str, Any]:
    """Settings of a mel spectrum, of telephones to music."""
    rate = draw(st.sampled_from([8000, 11025, 16000, 22050, 44100, 48000]))
    n_fft = 2 * draw(st.integers(64, 2048))
    lowest = draw(st.sampled_from([0.0, 20.0, 80.0, 300.0]))
    return {
        "sample_rate": rate,
        "n_fft": n_fft,
        "hop_length": draw(st.integers(n_fft // 8, n_fft)),
        "n_mels": draw(st.integers(8, min(128, n_fft // 4))),
        "fmin": lowest,
        "fmax": draw(st.sampled_from([None, rate / 2, 3400.0, 2000.0])),
        "window_seconds": draw(st.sampled_from([0.3, 1.0, 1.7])),
        "engine": draw(st.sampled_from(("numpy", "auto"))),
    }


def _agree(kind: Any, options: dict[str, Any], seed: int) -> None:
    coefficients = {"n_mfcc": min(20, options["n_mels"])} if kind is Mfcc else {}
    wanted = settings_of(kind, **options, **coefficients)
    generator = np.random.default_rng(seed)
    time = np.arange(wanted.window.samples) / wanted.sample_rate
    noise = 10.0 ** generator.uniform(-4, -1) * generator.standard_normal(len(time))
    tone = 0.5 * np.sin(2 * np.pi * generator.uniform(40, wanted.sample_rate / 2) * time)
    samples = (noise + tone).astype(np.float32)
    expected, actual = _by_librosa(samples, wanted), _values(samples, wanted)
    if kind is Mfcc:
        _assert_within_contract(expected, actual)
        return
    assert wanted.shape == actual.shape == expected.shape
    assert np.abs(expected - actual).max() <= LOG_MEL_DECIBELS


@pytest.mark.parametrize("kind", [Mfcc, LogMel])
@pytest.mark.filterwarnings("ignore:Empty filters detected")
@pytest.mark.filterwarnings("ignore:n_fft=.* is too large")
@given(options=geometries(), seed=st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_any_geometry_agrees(kind: Any, options: dict[str, Any], seed: int) -> None:
    """A tone over noise: the hardest for a float32 transform, at any level of the noise."""
    _agree(kind, options, seed)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Mfcc, LogMel])
@pytest.mark.filterwarnings("ignore:Empty filters detected")
@pytest.mark.filterwarnings("ignore:n_fft=.* is too large")
@given(options=geometries(), seed=st.integers(0, 1000))
@settings(max_examples=200, deadline=None)
def test_two_hundred_geometries_agree(kind: Any, options: dict[str, Any], seed: int) -> None:
    """The long form."""
    _agree(kind, options, seed)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("signal", SIGNALS)
def test_levels_are_those_of_librosa(signal: str, engine: str) -> None:
    """Log-mel of the same signals, by each engine."""
    samples = SIGNALS[signal].astype(np.float32)
    wanted = settings_of(LogMel, window_seconds=2.0, engine=engine)
    difference = np.abs(_by_librosa(samples, wanted) - _values(samples, wanted))
    assert difference.max() <= LOG_MEL_DECIBELS


@pytest.mark.parametrize("engine", ENGINES)
@given(valid=st.integers(1, SAMPLES), seed=st.integers(0, 9))
@settings(max_examples=50)
def test_leaving_out_the_padding_changes_no_bit(engine: str, valid: int, seed: int) -> None:
    """A prompt of a second in a window of ten is computed in a fifth of the time."""
    samples = 0.1 * np.random.default_rng(seed).standard_normal(SAMPLES)
    samples[valid:] = 0

    assert (
        _compute(samples, engine=engine).tobytes()
        == _compute(samples, valid, engine=engine).tobytes()
    )


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("level", [1e20, 1e30, 3e38])
def test_an_overflow_is_told_and_never_a_value(level: float, engine: str) -> None:
    """The naive pipeline hands out windows full of NaN here."""
    samples = np.zeros(SAMPLES)
    samples[5] = level

    transform = transform_for(replace(SETTINGS, engine=engine))  # type: ignore[arg-type]
    padded = np.pad(samples.astype(np.float32), transform.margin)
    assert not np.isfinite(transform.analyse(padded, SAMPLES).loudest)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_bits_do_not_depend_on_the_threads_of_the_blas(engine: str) -> None:
    """Executors set these variables as they please."""
    script = (
        "import hashlib, sys, numpy as np\n"
        "from audioloom_audio import ExtractionSettings\n"
        "from audioloom_audio.settings import transform_for\n"
        "transform = transform_for(ExtractionSettings(engine=sys.argv[1]))\n"
        "digest = hashlib.sha256()\n"
        "for seed in range(5):\n"
        "    samples = np.random.default_rng(seed).standard_normal(162048, dtype=np.float32)\n"
        "    samples[:1024] = samples[-1024:] = 0\n"
        "    samples *= np.linspace(0, 1, 162048, dtype=np.float32) ** 8\n"
        "    analysis = transform.analyse(samples, 160000)\n"
        "    digest.update(transform.values(*analysis).tobytes())\n"
        "print(digest.hexdigest())\n"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", script, engine],
            check=True,
            capture_output=True,
            env={
                "OPENBLAS_NUM_THREADS": threads,
                "OMP_NUM_THREADS": threads,
                "MKL_NUM_THREADS": threads,
            },
        ).stdout
        for threads in ("1", "2", "4")
    }

    assert 1 == len(digests)
