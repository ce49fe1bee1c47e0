"""Recordings to measure on: speech-like signals in the formats that call archives hold."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import soundfile
from numpy.typing import NDArray

SECONDS = 10

FORMATS: dict[str, tuple[int, int, str]] = {
    "8 kHz mono mu-law": (8_000, 1, "ULAW"),
    "16 kHz mono PCM16": (16_000, 1, "PCM_16"),
    "44.1 kHz stereo PCM16": (44_100, 2, "PCM_16"),
}
"""Name to (Hz, channels, libsndfile subtype)."""


def recording(name: str, *, seed: int = 0) -> bytes:
    """Ten seconds of a voice-like signal as the bytes of a WAV file."""
    rate, channels, subtype = FORMATS[name]
    sink = io.BytesIO()
    soundfile.write(sink, signal(rate, channels, seed), rate, format="WAV", subtype=subtype)
    return sink.getvalue()


def signal(rate: int, channels: int, seed: int) -> NDArray[Any]:
    """Harmonics under a moving pitch, in syllables, with noise at -60 dBFS; (frames, channels)."""
    random = np.random.default_rng(seed)
    t = np.arange(rate * SECONDS) / rate
    pitch = 120 + 40 * np.sin(2 * np.pi * 0.7 * t)
    phase = 2 * np.pi * np.cumsum(pitch) / rate
    voice = sum(np.sin(k * phase) / k for k in range(1, 15))
    syllables = np.clip(np.sin(2 * np.pi * 3 * t), 0, None)
    mono = 0.2 * voice * syllables
    noise = 1e-3 * random.standard_normal((len(t), channels))
    return np.asarray(mono[:, None] + noise)
