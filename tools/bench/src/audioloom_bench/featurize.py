"""Recordings on disk to normalised (40, 313) clips, in one process on one core.

A lane takes several recordings in turn, as an executor does: of one alone the caches, which the
lane before left full of its own, would be half of the time.

The floor is what cannot be left out, each by the fastest way known here: decode, resample (soxr
HQ), and the mel powers of every frame (compiled).
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import librosa
import numpy as np
import soxr
from audioloom_audio import ExtractionSettings, extract, mel_filters
from audioloom_audio.decoding.pcm import codec_of, ulaw_table
from audioloom_audio.decoding.riff import read_header
from audioloom_audio_native import N_FFT, NativeKernels, signal
from audioloom_audio_native.samples import MEAN
from numpy.typing import NDArray

from audioloom_bench.measure import Lane, measure
from audioloom_bench.recordings import FORMATS, SECONDS, recording

RATE, SAMPLES, FRAMES, MELS = 16_000, 160_000, 313, 128
IN_TURN = 10


def bench(rounds: int) -> list[Lane]:
    """Every lane on every format."""
    lanes = []
    with tempfile.TemporaryDirectory(prefix="audioloom-bench-") as folder:
        for number, name in enumerate(FORMATS):
            path = Path(folder) / f"{number}.wav"
            path.write_bytes(recording(name))
            lanes += measure(
                {
                    "naive": partial(_in_turn, naive, path),
                    "audioloom librosa": partial(_in_turn, partial(ours, "librosa"), path),
                    "audioloom numpy": partial(_in_turn, partial(ours, "numpy"), path),
                    "audioloom native": partial(_in_turn, partial(ours, "native"), path),
                    "floor": partial(_in_turn, floor, path),
                },
                amount=SECONDS * IN_TURN,
                unit="audio-s / core-s",
                input_name=name,
                rounds=rounds,
            )
    return lanes


def _in_turn(lane: Callable[[Path], object], path: Path) -> None:
    for _ in range(IN_TURN):
        lane(path)


def naive(path: Path) -> NDArray[Any]:
    """What a competent team writes first."""
    samples, _ = librosa.load(io.BytesIO(path.read_bytes()), sr=RATE, mono=True)
    samples = np.pad(samples[:SAMPLES], (0, max(0, SAMPLES - len(samples))))
    values = librosa.feature.mfcc(y=samples, sr=RATE, n_mfcc=40)
    return np.asarray((values - values.mean()) / values.std())


def ours(engine: Any, path: Path) -> NDArray[Any]:
    """The stream that the featurizer uses, as it uses it: settings once, each stream closed."""
    with path.open("rb") as file, extract(file, _settings(engine)) as windows:
        return next(windows).values


@cache
def _settings(engine: Any) -> ExtractionSettings:
    return ExtractionSettings(engine=engine)


def floor(path: Path) -> NDArray[Any]:
    """Decode and mix, resample, mel powers."""
    content = path.read_bytes()
    header = read_header(io.BytesIO(content), len(content), path.name)
    table = {"pcm_16": None, "ulaw": ulaw_table()}[str(codec_of(header))]
    codes = np.frombuffer(content, "<i2" if table is None else np.uint8, offset=header.offset)
    mono = signal(codes.reshape(-1, header.channels), MEAN, table)
    if header.sample_rate != RATE:
        mono = soxr.resample(mono, header.sample_rate, RATE, quality="HQ")
    mel = np.empty((FRAMES, MELS), np.float32)
    _kernels().powers(np.pad(mono, N_FFT // 2), mel)
    return mel


@cache
def _kernels() -> NativeKernels:
    return NativeKernels(mel_filters(RATE, N_FFT, MELS), 1)
