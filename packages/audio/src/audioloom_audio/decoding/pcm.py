"""Decode 16-bit PCM, mu-law and A-law, the codings of most telephone archives.

The decoder reads forward only and does not need libsndfile; its samples equal libsndfile's.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from audioloom_audio.decoding.riff import ALAW, MULAW, PCM, WaveHeader
from audioloom_audio.decoding.source import Source, read_fully
from audioloom_audio.signals import Samples, Signals

_BLOCK_SAMPLES: Final = 1 << 17  # over all channels
_SAMPLE_BYTES: Final = {"pcm_16": 2, "ulaw": 1, "alaw": 1}


def codec_of(header: WaveHeader) -> str | None:
    """The name of the coding, or None if this module does not decode it."""
    codec = {(PCM, 16): "pcm_16", (MULAW, 8): "ulaw", (ALAW, 8): "alaw"}.get(
        (header.tag, header.bits)
    )
    return None if header.big_endian else codec


def frame_bytes(codec: str, channels: int) -> int:
    """Bytes of one sample of every channel; the header's block alignment may be wrong."""
    return _SAMPLE_BYTES[codec] * channels


def blocks(
    source: Source, header: WaveHeader, codec: str, numbers: tuple[int, ...], by: Samples
) -> Iterator[Signals]:
    """Yield the signals *numbers*, block by block; a block's signals have equal length."""
    source.seek(header.offset)
    channels = header.channels
    size = frame_bytes(codec, channels)
    table = {"ulaw": ulaw_table, "alaw": alaw_table}.get(codec, lambda: None)()
    left = header.present // size
    while left:
        data = read_fully(source, min(left, max(1, _BLOCK_SAMPLES // channels)) * size)
        count = len(data) // size
        if not count:
            return
        left -= count
        codes = np.frombuffer(data, "<i2" if table is None else np.uint8, count * channels)
        frames = codes.reshape(count, channels)
        yield tuple(by.signal(frames, number, table) for number in numbers)


@lru_cache(maxsize=1)
def ulaw_table() -> NDArray[np.float32]:
    """Samples of all mu-law codes, float32 ``(256,)`` in +-1, equal to libsndfile's."""
    code = ~np.arange(256, dtype=np.int32) & 0xFF
    magnitude = ((((code & 0x0F) << 3) + 0x84) << ((code >> 4) & 7)) - 0x84
    return (np.where(code & 0x80, -magnitude, magnitude) / 32768).astype(np.float32)


@lru_cache(maxsize=1)
def alaw_table() -> NDArray[np.float32]:
    """Samples of all A-law codes, float32 ``(256,)`` in +-1, equal to libsndfile's."""
    code = np.arange(256, dtype=np.int32) ^ 0x55
    segment = (code >> 4) & 7
    mantissa = (code & 0x0F) << 4
    magnitude = np.where(
        segment == 0, mantissa + 8, (mantissa + 0x108) << np.maximum(segment - 1, 0)
    )
    return (np.where(code & 0x80, magnitude, -magnitude) / 32768).astype(np.float32)
