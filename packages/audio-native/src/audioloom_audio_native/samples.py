"""Convert codes to samples, and find the largest sample, by the functions of csrc/samples.c.

Both functions are exact, so they give the same bits as any other exact implementation.
"""

import struct
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
    address = codes.ctypes.data
    library().audioloom_signal(
        best_level() if level is None else level,
        address if table is None else None,
        None if table is None else address,
        None if table is None else np.ascontiguousarray(table).ctypes.data,
        frames,
        channels,
        number,
        samples.ctypes.data,
    )
    return samples


def peak(samples: NDArray[np.float32], *, level: int | None = None) -> float:
    """The largest magnitude of *samples* ``(count,)``: NaN if a sample is NaN, 0.0 if empty.

    Raises:
        ValueError: the samples are not float32.
    """
    if samples.dtype != np.float32 or samples.ndim != 1:
        raise ValueError(f"expected float32 (count,), found {samples.dtype} {samples.shape}")
    plain = np.ascontiguousarray(samples)
    number = best_level() if level is None else level
    bits = library().audioloom_peak(number, plain.ctypes.data, len(plain))
    magnitude: float = struct.unpack("f", struct.pack("I", bits))[0]
    return magnitude
