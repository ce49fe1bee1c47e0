"""Convert codes to samples, and find the largest sample, by the functions of csrc/samples.c.

Both functions are exact, so they give the same bits as any other exact implementation.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from audioloom_audio_native.library import best_level, library

MEAN: Final = -1
_STEREO: Final = 2
_CODES: Final = 256


def signal(
    codes: NDArray[np.integer[Any]],
    number: int,
    table: NDArray[np.float32] | None = None,
    *,
    level: int | None = None,
) -> NDArray[np.float32]:
    """Take one signal from interleaved frames.

    Args:
        codes: ``(frames, channels)``, contiguous: int16, or uint8 with a *table*.
        number: The channel, from 0; `MEAN` is the mean of one or two channels.
        table: Samples of all codes, float32 ``(256,)``.
        level: Level of the kernels, the best by default; for tests.

    Returns:
        float32 ``(frames,)``; int16 codes are scaled to +-1.

    Raises:
        ValueError: an argument has another shape, type or value.
    """
    frames, channels = codes.shape
    wanted = np.int16 if table is None else np.uint8
    if codes.dtype != wanted or not codes.flags.c_contiguous:
        raise ValueError(f"expected contiguous {wanted.__name__} codes, found {codes.dtype}")
    if table is not None and (table.dtype != np.float32 or table.shape != (_CODES,)):
        raise ValueError(f"expected a float32 table of {_CODES}, found {table.dtype} {table.shape}")
    if number == MEAN and channels == 1:
        number = 0
    if not (0 <= number < channels or (number == MEAN and channels == _STEREO)):
        raise ValueError(f"expected a channel of {channels}, found number {number}")
    samples = np.empty(frames, np.float32)
    places = None if table is None else np.ascontiguousarray(table)
    inputs = (
        codes.ctypes.data if places is None else None,
        None if places is None else codes.ctypes.data,
        None if places is None else places.ctypes.data,
    )
    used = best_level() if level is None else level
    library().audioloom_signal(used, *inputs, frames, channels, number, samples)
    return samples


def peak(samples: NDArray[np.float32], *, level: int | None = None) -> float:
    """The largest magnitude of *samples* ``(count,)``: NaN if a sample is NaN, 0.0 if empty."""
    plain = np.ascontiguousarray(samples)
    number = best_level() if level is None else level
    bits = library().audioloom_peak(number, plain, len(plain))
    return float(np.uint32(bits).view(np.float32))
