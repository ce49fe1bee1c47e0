"""A short recording in every format and coding, made on the spot: hostile files start here."""

from __future__ import annotations

import io
import struct
from functools import cache

import numpy as np
import soundfile

RATE = 8000
SECONDS = 0.7

# Container, coding, ending, rate, channels.
_WRITTEN = [
    *(("WAV", coding, "wav", RATE, 2) for coding in ("PCM_U8", "PCM_16", "PCM_24", "PCM_32")),
    *(("WAV", coding, "wav", RATE, 1) for coding in ("FLOAT", "DOUBLE", "ULAW", "ALAW")),
    *(("WAV", coding, "wav", RATE, 1) for coding in ("IMA_ADPCM", "MS_ADPCM", "GSM610", "G721_32")),
    ("WAVEX", "PCM_16", "wav", 44100, 6),
    ("RF64", "PCM_16", "wav", 16000, 2),
    *(("W64", coding, "w64", RATE, 1) for coding in ("PCM_16", "ULAW", "MS_ADPCM", "GSM610")),
    *(("AIFF", coding, "aiff", RATE, 2) for coding in ("PCM_16", "PCM_S8", "FLOAT")),
    *(("AIFF", coding, "aifc", RATE, 1) for coding in ("ULAW", "IMA_ADPCM", "GSM610")),
    *(("AU", coding, "au", RATE, 1) for coding in ("PCM_16", "ULAW", "ALAW", "FLOAT", "G723_24")),
    *(("CAF", coding, "caf", RATE, 2) for coding in ("PCM_16", "FLOAT", "ALAC_16", "ULAW")),
    *(("FLAC", coding, "flac", 16000, 2) for coding in ("PCM_16", "PCM_24", "PCM_S8")),
    ("OGG", "VORBIS", "ogg", 44100, 2),
    ("OGG", "OPUS", "opus", 48000, 2),
    ("MP3", "MPEG_LAYER_III", "mp3", 44100, 2),
    ("MP3", "MPEG_LAYER_III", "mp3", RATE, 1),
    *(("NIST", coding, "sph", 16000, 1) for coding in ("PCM_16", "ULAW", "ALAW")),
    *(("RAW", coding, "raw", RATE, 1) for coding in ("ULAW", "ALAW", "GSM610")),
]


def samples(rate: int = RATE, channels: int = 1, seconds: float = SECONDS) -> np.ndarray:
    """A tone in noise."""
    count = int(rate * seconds)
    random = np.random.default_rng([rate, channels, count])
    tone = 0.3 * np.sin(2 * np.pi * 440 * np.arange(count) / rate)[:, np.newaxis]
    return np.squeeze(tone + random.normal(0, 0.05, (count, channels))).astype(np.float32)


def encode(
    form: str, coding: str, rate: int = RATE, channels: int = 1, endian: str = "FILE"
) -> bytes:
    """A file by libsndfile."""
    file = io.BytesIO()
    data = samples(rate, channels)
    soundfile.write(file, data, rate, format=form, subtype=coding, endian=endian)
    return file.getvalue()


@cache
def specimens() -> dict[str, bytes]:
    """Name, with the ending that belongs to it, to bytes; the order is always the same."""
    made = {
        f"{form}-{coding}-{rate}-{channels}.{ending}".lower(): encode(form, coding, rate, channels)
        for form, coding, ending, rate, channels in _WRITTEN
    }
    made["rifx.wav"] = encode("WAV", "PCM_16", endian="BIG")
    made["dns.au"] = encode("AU", "PCM_16", endian="LITTLE")
    return made


def wave(
    data: bytes,
    *,
    tag: int = 1,
    channels: int = 1,
    rate: int = RATE,
    bits: int = 16,
    tail: bytes = b"",
    size: int | None = None,
    before: bytes = b"",
    after: bytes = b"",
    first: bytes = b"",
) -> bytes:
    """A WAV of which every number can be made to lie."""
    width = channels * bits // 8
    fmt = (
        struct.pack("<HHIIHH", tag, channels, rate, rate * width & 0xFFFFFFFF, width & 0xFFFF, bits)
        + tail
    )
    body = b"WAVE" + first + b"fmt " + struct.pack("<I", len(fmt)) + fmt + before + b"data"
    body += struct.pack("<I", len(data) if size is None else size) + data + after
    return b"RIFF" + struct.pack("<I", len(body) & 0xFFFFFFFF) + body
