"""Recordings made on the spot: WAV with honest or lying headers, and whatever libsndfile writes."""

from __future__ import annotations

import io
import struct
import warnings
from typing import TYPE_CHECKING

import numpy as np
import pytest
import soundfile

with warnings.catch_warnings():
    # librosa.load imports it, and it the standard library's decoders, deprecated in Python 3.11.
    warnings.simplefilter("ignore", DeprecationWarning)
    import audioread.rawread  # noqa: F401

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


@pytest.fixture(scope="session")
def make_wave() -> Callable[..., bytes]:
    """Build a little-endian RIFF/WAVE file around *data*; every number in it can be made to lie."""

    def make(
        data: bytes,
        *,
        tag: int = 1,
        channels: int = 1,
        rate: int = 8000,
        bits: int = 16,
        align: int | None = None,
        fmt_tail: bytes = b"",
        data_size: int | None = None,
        riff_size: int | None = None,
        before: bytes = b"",
        after: bytes = b"",
    ) -> bytes:
        width = channels * bits // 8 if align is None else align
        fmt = struct.pack("<HHIIHH", tag, channels, rate, rate * width, width, bits) + fmt_tail
        body = b"WAVEfmt " + struct.pack("<I", len(fmt)) + fmt + before + b"data"
        body += struct.pack("<I", len(data) if data_size is None else data_size) + data + after
        return b"RIFF" + struct.pack("<I", len(body) if riff_size is None else riff_size) + body

    return make


@pytest.fixture(scope="session")
def encode() -> Callable[..., bytes]:
    """Build a file by libsndfile: ``encode(samples, rate, "FLAC", "PCM_16")``."""

    def make(
        samples: NDArray[np.floating], rate: int, form: str, coding: str, endian: str = "FILE"
    ) -> bytes:
        file = io.BytesIO()
        soundfile.write(file, samples, rate, format=form, subtype=coding, endian=endian)
        return file.getvalue()

    return make


@pytest.fixture(scope="session")
def voice() -> Callable[..., NDArray[np.float32]]:
    """A signal with what makes MFCCs hard: harmonics, pauses, a quiet noise floor.

    ``voice(rate, samples)`` is float32 ``(samples,)``; with channels, ``(samples, channels)``.
    """

    def make(rate: int, samples: int, channels: int = 0, seed: int = 0) -> NDArray[np.float32]:
        random = np.random.default_rng([seed, rate, samples])
        time = np.arange(samples)[:, np.newaxis] / rate
        wide = max(1, channels)
        phase = random.uniform(0, 6, wide)
        pitch = 2 * np.pi * (110 + 40 * np.arange(wide)) * time + 3 * np.sin(2 * time + phase)
        tones = sum(np.sin(k * pitch) / k for k in range(1, 20) if k * 200 < rate / 2)
        signal = 0.2 * tones * np.clip(np.sin(3 * time + phase), 0, 1)
        signal = signal + 1e-3 * random.standard_normal((samples, wide))
        return (signal if channels else signal[:, 0]).astype(np.float32)

    return make
