"""mu-law and A-law (ITU-T G.711): tables from the 256 codes to float32 samples."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
