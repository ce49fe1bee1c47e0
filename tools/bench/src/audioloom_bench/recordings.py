"""Recordings to measure on: a telephone call between two voices in the formats that archives hold.

Real enough to have what decides the speed: pauses, a quiet upper half of the spectrum, line noise.
Harmonics alone would not do: their empty upper bands take a slower path of ours.
"""

from __future__ import annotations

import io
from functools import lru_cache
from typing import Any

import numpy as np
import soundfile
import soxr
from audioloom_voices.demo.engine import Engine
from audioloom_voices.demo.isolated import call_each
from audioloom_voices.demo.recipe import Utterance
from audioloom_voices.demo.sentences import SENTENCES
from numpy.typing import NDArray

SECONDS = 10

FORMATS: dict[str, tuple[int, int, str]] = {
    "8 kHz mono mu-law": (8_000, 1, "ULAW"),
    "16 kHz mono PCM16": (16_000, 1, "PCM_16"),
    "44.1 kHz stereo PCM16": (44_100, 2, "PCM_16"),
}
"""Name to (Hz, channels, libsndfile subtype)."""

_RATE = 44_100
_TURN_SECONDS = 4
_NOISE = 1e-3  # -60 dBFS


def recording(name: str) -> bytes:
    """Ten seconds of the call as the bytes of a WAV file."""
    rate, channels, subtype = FORMATS[name]
    samples = call() if rate == _RATE else soxr.resample(call(), _RATE, rate, quality="VHQ")
    sink = io.BytesIO()
    mixed = samples if channels > 1 else samples.mean(axis=1)
    soundfile.write(sink, mixed, rate, format="WAV", subtype=subtype)
    return sink.getvalue()


@lru_cache(maxsize=1)
def call() -> NDArray[Any]:
    """Agent left, customer right: they take turns; the agent's line faintly hears the customer."""
    engine = Engine()
    random = np.random.default_rng(0)
    times = np.arange(_RATE * SECONDS) / _RATE
    agents_turn = times % (2 * _TURN_SECONDS) < _TURN_SECONDS
    lines = [
        0.5 * _speech(engine, "en-us+m3", 40)[: len(times)] * agents_turn,
        0.5 * _speech(engine, "en-us+f2", 60)[: len(times)] * ~agents_turn,
    ]
    lines[0] = lines[0] + 3e-3 * lines[1]
    noise = _NOISE * random.standard_normal((len(times), 2))
    return np.clip(np.stack(lines, axis=1) + noise, -0.99, 0.99)


def _speech(engine: Engine, voice: str, pitch: int) -> NDArray[Any]:
    """Sentences in one voice, longer than needed."""
    said = [
        Utterance("bench", number, voice, f"{text}.", 160, pitch, "medium", 100, 0)
        for number, text in enumerate(SENTENCES[:8])
    ]
    spoken = b"".join(call_each(engine.say, said, at_once=2))
    samples = np.frombuffer(spoken, "<i2") / 32768
    resampled: NDArray[Any] = soxr.resample(samples, engine.sample_rate, _RATE)
    return resampled
