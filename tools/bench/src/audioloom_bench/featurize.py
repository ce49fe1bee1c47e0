"""Recording bytes to a normalised (40, 313) clip, in one process on one core.

The floor is what cannot be left out: decode, resample (soxr HQ), and the FFT of every frame.
"""

from __future__ import annotations

import io
from functools import partial
from typing import Any

import librosa
import numpy as np
import scipy.fft
import soundfile
import soxr
from audioloom_mfcc import MfccSettings, extract
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from audioloom_bench.measure import Lane, measure
from audioloom_bench.recordings import FORMATS, SECONDS, recording

RATE, SAMPLES = 16_000, 160_000


def bench(rounds: int) -> list[Lane]:
    """Every lane on every format."""
    lanes = []
    for name in FORMATS:
        data = recording(name)
        lanes += measure(
            {
                "naive": partial(naive, data),
                "audioloom librosa": partial(ours, data, "librosa"),
                "audioloom numpy": partial(ours, data, "numpy"),
                "floor": partial(floor, data),
            },
            amount=SECONDS,
            unit="audio-s / core-s",
            input_name=name,
            rounds=rounds,
        )
    return lanes


def naive(data: bytes) -> NDArray[Any]:
    """What a competent team writes first."""
    samples, _ = librosa.load(io.BytesIO(data), sr=RATE, mono=True)
    samples = np.pad(samples[:SAMPLES], (0, max(0, SAMPLES - len(samples))))
    values = librosa.feature.mfcc(y=samples, sr=RATE, n_mfcc=40)
    return np.asarray((values - values.mean()) / values.std())


def ours(data: bytes, engine: Any) -> NDArray[Any]:
    """The stream that the featurizer uses."""
    return next(extract(io.BytesIO(data), MfccSettings(engine=engine))).values


def floor(data: bytes) -> NDArray[Any]:
    """Decode, resample, FFT."""
    samples, rate = soundfile.read(io.BytesIO(data), dtype="float32", always_2d=True)
    mono = samples[:, 0]
    if rate != RATE:
        mono = soxr.resample(mono, rate, RATE, quality="HQ")
    frames = sliding_window_view(np.pad(mono, 1024), 2048)[::512]
    spectrum = np.empty(0)
    for first in range(0, len(frames), 64):
        spectrum = scipy.fft.rfft(np.ascontiguousarray(frames[first : first + 64]), axis=1)
    return spectrum
