"""Decoding of what most telephone archives are made of: 16-bit PCM, mu-law, A-law.

Reads forward only, never seeks, and needs no libsndfile; the samples equal libsndfile's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from audioloom_mfcc.channels import MIX, take_signals
from audioloom_mfcc.g711 import alaw_table, ulaw_table
from audioloom_mfcc.riff import ALAW, MULAW, PCM, WaveHeader
from audioloom_mfcc.source import read_fully

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from audioloom_mfcc.source import Source

_BLOCK_SAMPLES: Final = 1 << 16  # over all channels
_SAMPLE_BYTES: Final = {"pcm_16": 2, "ulaw": 1, "alaw": 1}
_SCALE: Final = np.float32(1 / 32768)
# Both channels scaled and halved in one product. It is exact: 17 bits fit a float32.
_HALVES: Final = np.full(2, 1 / 65536, np.float32)


def codec_of(header: WaveHeader) -> str | None:
    """Name of the coding if it is decoded here."""
    codec = {(PCM, 16): "pcm_16", (MULAW, 8): "ulaw", (ALAW, 8): "alaw"}.get(
        (header.tag, header.bits)
    )
    return None if header.big_endian else codec


def frame_bytes(codec: str, channels: int) -> int:
    """Bytes of one sample of every channel. The header's block alignment is not asked."""
    return _SAMPLE_BYTES[codec] * channels


def blocks(
    source: Source, header: WaveHeader, codec: str, numbers: tuple[int, ...]
) -> Iterator[tuple[NDArray[np.float32], ...]]:
    """The signals *numbers*, block by block, each block's signals of equal length."""
    source.seek(header.offset)
    channels = header.channels
    size = frame_bytes(codec, channels)
    left = header.present // size
    while left:
        data = read_fully(source, min(left, max(1, _BLOCK_SAMPLES // channels)) * size)
        count = len(data) // size
        if not count:
            return
        left -= count
        codes = np.frombuffer(data, "<i2" if codec == "pcm_16" else np.uint8, count * channels)
        yield _signals(codes.reshape(count, channels), codec, numbers)


def _signals(
    codes: NDArray[np.integer[Any]], codec: str, numbers: tuple[int, ...]
) -> tuple[NDArray[np.float32], ...]:
    if codec == "ulaw":
        return take_signals(ulaw_table().take(codes), numbers)
    if codec == "alaw":
        return take_signals(alaw_table().take(codes), numbers)
    if numbers == (MIX,) and codes.shape[1] == 2:  # noqa: PLR2004 - stereo
        return (codes.astype(np.float32) @ _HALVES,)
    if MIX not in numbers:
        return tuple(_scaled(codes[:, number]) for number in numbers)
    return take_signals(_scaled(codes), numbers)


def _scaled(codes: NDArray[np.integer[Any]]) -> NDArray[np.float32]:
    scaled: NDArray[np.float32] = np.multiply(codes, _SCALE, dtype=np.float32)
    return scaled
