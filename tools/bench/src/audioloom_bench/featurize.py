"""Recordings on disk to normalised clips, in one process on one core.

MFCC with the defaults on every format, log-mel on one, and speech at 8 kHz on telephone audio.

A lane takes several recordings in turn, as an executor does: of one alone the caches, which the
lane before left full of its own, would be half of the time.

The floor is what cannot be left out, each by the fastest way known here: decode, resample (soxr
HQ), and the mel powers of every frame (compiled).
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, cast

import librosa
import numpy as np
import soxr
from audioloom_audio import ExtractionSettings, LogMel, Mfcc, extract, mel_filters
from audioloom_audio.decoding.pcm import codec_of, ulaw_table
from audioloom_audio.decoding.riff import read_header
from audioloom_audio_native import NativeKernels, signal
from audioloom_audio_native.samples import MEAN
from numpy.typing import NDArray

from audioloom_bench.measure import Lane, measure
from audioloom_bench.recordings import FORMATS, SECONDS, recording

MFCC = ExtractionSettings()
LOG_MEL = ExtractionSettings(feature=LogMel())
SPEECH_8K = ExtractionSettings(
    feature=Mfcc(n_fft=256, hop_length=80, n_mels=40, n_mfcc=20), sample_rate=8000
)
IN_TURN = 10
TELEPHONE, PLAIN = "8 kHz mono mu-law", "16 kHz mono PCM16"

CASES = {
    **{name: (name, MFCC) for name in FORMATS},
    f"{PLAIN}, log-mel": (PLAIN, LOG_MEL),
    f"{TELEPHONE}, speech-8k": (TELEPHONE, SPEECH_8K),
}


def bench(rounds: int) -> list[Lane]:
    """Every lane on every case."""
    lanes = []
    with tempfile.TemporaryDirectory(prefix="audioloom-bench-") as folder:
        for number, (case, (name, settings)) in enumerate(CASES.items()):
            path = Path(folder) / f"{number}.wav"
            path.write_bytes(recording(name))
            engines = {
                f"audioloom {engine}": partial(ours, replace(settings, engine=engine))
                for engine in ("librosa", "numpy", "native")
            }
            work = {"naive": partial(naive, settings), **engines, "floor": partial(floor, settings)}
            lanes += measure(
                {lane: partial(_in_turn, each, path) for lane, each in work.items()},
                amount=SECONDS * IN_TURN,
                unit="audio-s / core-s",
                input_name=case,
                rounds=rounds,
            )
    return lanes


def _in_turn(lane: Callable[[Path], object], path: Path) -> None:
    for _ in range(IN_TURN):
        lane(path)


def naive(settings: ExtractionSettings, path: Path) -> NDArray[Any]:
    """What a competent team writes first."""
    rate, length, feature = settings.sample_rate, settings.window.samples, _mel(settings)
    samples, _ = librosa.load(io.BytesIO(path.read_bytes()), sr=rate, mono=True)
    samples = np.pad(samples[:length], (0, max(0, length - len(samples))))
    sizes = {name: getattr(feature, name) for name in ("n_fft", "hop_length", "n_mels")}
    if isinstance(feature, Mfcc):
        values = librosa.feature.mfcc(y=samples, sr=rate, n_mfcc=feature.n_mfcc, **sizes)
    else:
        values = librosa.power_to_db(librosa.feature.melspectrogram(y=samples, sr=rate, **sizes))
    return np.asarray((values - values.mean()) / values.std())


def ours(settings: ExtractionSettings, path: Path) -> NDArray[Any]:
    """The stream that the featurizer uses, as it uses it: settings once, each stream closed."""
    with path.open("rb") as file, extract(file, settings) as windows:
        return next(windows).values


def floor(settings: ExtractionSettings, path: Path) -> NDArray[Any]:
    """Decode and mix, resample, mel powers."""
    content, feature = path.read_bytes(), _mel(settings)
    header = read_header(io.BytesIO(content), len(content), path.name)
    table = {"pcm_16": None, "ulaw": ulaw_table()}[str(codec_of(header))]
    codes = np.frombuffer(content, "<i2" if table is None else np.uint8, offset=header.offset)
    mono = signal(codes.reshape(-1, header.channels), MEAN, table)
    if header.sample_rate != settings.sample_rate:
        mono = soxr.resample(mono, header.sample_rate, settings.sample_rate, quality="HQ")
    mel = np.empty((settings.shape[1], feature.n_mels), np.float32)
    _kernels(settings).powers(np.pad(mono, feature.n_fft // 2), mel)
    return mel


@cache
def _kernels(settings: ExtractionSettings) -> NativeKernels:
    feature = _mel(settings)
    filters = mel_filters(settings.sample_rate, feature.n_fft, feature.n_mels)
    return NativeKernels(filters, 0, feature.hop_length)


def _mel(settings: ExtractionSettings) -> Mfcc | LogMel:
    return cast("Mfcc | LogMel", settings.feature)
