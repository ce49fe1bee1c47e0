"""The kernels of csrc/ as functions of NumPy arrays.

The lengths of arrays are checked here, their types and layouts by ctypes (`library`): an array of
another type or layout is a `ctypes.ArgumentError`.
"""

import ctypes
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from audioloom_audio_native.library import best_level, library

# As in csrc/kernels.h.
N_FFT: Final = 2048  # with a hop of 512 there are kernels for this length alone
HOP_LENGTH: Final = 512
MOST_BANDS: Final = 256
LONGEST_FRAME: Final = 8192
_SHORTEST: Final = 128
"""Shorter frames need a stricter limit, or their error exceeds the promised 1e-4."""
_MOST_STEPS: Final = 16

_WIDTH: Final = 24  # of half the DCT, a multiple


class _Geometry(ctypes.Structure):
    _fields_ = (
        ("n_fft", ctypes.c_int),
        ("hop", ctypes.c_int),
        ("steps", ctypes.c_int),
        ("radices", ctypes.c_int * _MOST_STEPS),
        ("window", ctypes.c_void_p),
        ("turn_re", ctypes.c_void_p),
        ("turn_im", ctypes.c_void_p),
        ("split_re", ctypes.c_void_p),
        ("split_im", ctypes.c_void_p),
    )


class _Filters(ctypes.Structure):
    _fields_ = (
        ("bands", ctypes.c_int),
        ("falling", ctypes.c_void_p),
        ("falling_weight", ctypes.c_void_p),
        ("rising_weight", ctypes.c_void_p),
    )


class _Tail(ctypes.Structure):
    _fields_ = (
        ("bands", ctypes.c_int),
        ("coefficients", ctypes.c_int),
        ("width", ctypes.c_int),
        ("heights", ctypes.c_void_p),
        ("by_height", ctypes.c_void_p),
        ("transform", ctypes.c_void_p),
    )


class NativeKernels:
    """Convert frames to mel powers, and these to cepstral coefficients.

    Frames are windowed by a periodic Hann window. Scratch memory belongs to the calling thread, so
    several threads may use one object. Arrays are float32 and contiguous; mel powers are
    ``(frames, bands)``, and finite where they are read. A ValueError refuses a mel of other bands
    than the filters, or of more frames than the samples hold whole.

    Args:
        filters: float32 ``(bands, n_fft // 2 + 1)``, triangular: each bin may lie in one band or in
            two neighbouring bands.
        n_mfcc: Coefficients kept, from c0; 0 if no cepstra are wanted.
        hop_length: Samples from one frame to the next.
        level: Level of the kernels, the best by default; for tests.

    Raises:
        ValueError: The kernels do not support these numbers, or the level does not run here.
    """

    block: Final = 1  # frames whose last digits depend on each other: none

    def __init__(
        self,
        filters: NDArray[np.float32],
        n_mfcc: int,
        hop_length: int = HOP_LENGTH,
        *,
        level: int | None = None,
    ) -> None:
        bands, bins = filters.shape
        n_fft = 2 * (bins - 1)
        if not supports(n_fft) or not 0 < bands <= MOST_BANDS:
            expected = f"filters of 1 to {MOST_BANDS} bands, of frames that are supported"
            raise ValueError(f"expected {expected}, found {bands} bands and {bins} bins")
        if hop_length < 1:
            raise ValueError(f"expected a hop of 1 or more samples, found {hop_length}")
        if not 0 <= n_mfcc <= bands:
            raise ValueError(f"expected 0 to {bands} coefficients, found {n_mfcc}")
        best = best_level()
        self._level = best if level is None else level
        if self._level not in {3, 4} or self._level > best:
            raise ValueError(f"expected x86-64-v3 or v4, at most v{best}; found v{self._level}")
        self._bands, self._n_mfcc = bands, n_mfcc
        self._n_fft, self._hop = n_fft, hop_length
        self._any = (
            None if (n_fft, hop_length) == (N_FFT, HOP_LENGTH) else _geometries(n_fft, hop_length)
        )
        # Each structure points into arrays, which must live as long as the structure.
        self._filter_arrays = _halves(filters)
        self._filters = _Filters(bands, *(array.ctypes.data for array in self._filter_arrays))
        width = -(-n_mfcc // (2 * _WIDTH)) * _WIDTH
        # A band too narrow to contain a bin has no height and no power.
        heights = np.maximum(filters.max(axis=1), np.finfo(np.float32).tiny)
        self._tail_arrays = (heights, 1 / heights, _cosine_transform(bands, n_mfcc, width))
        addresses = (array.ctypes.data for array in self._tail_arrays)
        self._tail = _Tail(bands, n_mfcc, width, *addresses)

    def powers(self, samples: NDArray[np.float32], mel: NDArray[np.float32]) -> None:
        """Write the mel powers of the first frames of *samples* to *mel*."""
        self._check_frames(samples, mel)
        filters = ctypes.byref(self._filters)
        if self._any is None:
            library().audioloom_powers(self._level, samples, len(samples), len(mel), filters, mel)
        else:
            shape = ctypes.byref(self._any[0].structure)
            library().audioloom_any_powers(self._level, samples, len(mel), shape, filters, mel)

    def powers_again(
        self, samples: NDArray[np.float32], numbers: NDArray[np.intp], mel: NDArray[np.float32]
    ) -> None:
        """Compute the rows *numbers* of *mel* again, from a float64 transform.

        Raises:
            ValueError: a number is not that of a row.
        """
        self._check_frames(samples, mel)
        rows = np.ascontiguousarray(numbers, np.int64)
        if len(rows) and not 0 <= rows.min() <= rows.max() < len(mel):
            found = f"{rows.min()} to {rows.max()}"
            raise ValueError(f"expected rows 0 to {len(mel) - 1}, found {found}")
        filters = ctypes.byref(self._filters)
        frames = (self._level, samples, rows, len(rows))
        if self._any is None:
            library().audioloom_powers_again(*frames, filters, mel)
        else:
            shape = ctypes.byref(self._any[1].structure)
            library().audioloom_any_powers_again(*frames, shape, filters, mel)

    def delicate(self, mel: NDArray[np.float32], floor: float, limit: float) -> NDArray[np.intp]:
        """Find the numbers of frames with bands too quiet for a float32 transform.

        Args:
            mel: The mel powers.
            floor: The power to which all lower powers will be raised.
            limit: How far the frame's power may lie above its bands' powers, in the mean.
        """
        self._check_bands(mel)
        numbers = np.empty(len(mel), np.int64)
        tail = ctypes.byref(self._tail)
        # The kernel multiplies by the bins of 2048 samples. From 128 samples on, the error is below
        # 8e-5 with that, and a limit by their own bins takes speech at 8 kHz a fifth more time.
        if self._n_fft < _SHORTEST:
            limit *= (self._n_fft // 2 + 1) / (N_FFT // 2 + 1)
        count = library().audioloom_delicate(
            self._level, mel, len(mel), tail, floor, limit, numbers
        )
        return numbers[:count].astype(np.intp, copy=False)

    def cepstra(self, mel: NDArray[np.float32], floor: float) -> NDArray[np.float32]:
        """Compute the orthonormal DCT-II of the decibels of *mel* raised to *floor*.

        The floor is more than zero, and no denormal number. The result is ``(n_mfcc, frames)``.

        Raises:
            ValueError: no cepstra are wanted.
        """
        if not self._n_mfcc:
            raise ValueError("expected kernels of 1 or more coefficients, found 0")
        self._check_bands(mel)
        values = np.empty((self._n_mfcc, len(mel)), np.float32)
        tail = ctypes.byref(self._tail)
        library().audioloom_cepstra(self._level, mel, len(mel), tail, floor, values)
        return values

    def _check_frames(self, samples: NDArray[Any], mel: NDArray[Any]) -> None:
        self._check_bands(mel)
        frames = max(0, 1 + (len(samples) - self._n_fft) // self._hop)
        if len(mel) > frames:
            raise ValueError(f"expected at most {frames} frames in the samples, found {len(mel)}")

    def _check_bands(self, mel: NDArray[Any]) -> None:
        if mel.shape[1] != self._bands:
            raise ValueError(f"expected a mel of {self._bands} bands, found {mel.shape[1]}")


def supports(n_fft: int) -> bool:
    """Whether there are kernels for frames of that many samples.

    They are for even lengths up to `LONGEST_FRAME` whose half has no prime factor but 2, 3 and 5.
    """
    return n_fft % 2 == 0 and 4 <= n_fft <= LONGEST_FRAME and bool(_radices(n_fft // 2))  # noqa: PLR2004


def _radices(length: int) -> list[int]:
    """The factors 4, 2, 3, 5 of a length, in that order; none if there are others."""
    found = []
    for radix in (4, 2, 3, 5):
        while length % radix == 0:
            found.append(radix)
            length //= radix
    return found if length == 1 else []


class _Constants:
    """The geometry of frames with its constants, which must live as long as the structure."""

    def __init__(self, n_fft: int, hop_length: int, dtype: type[np.floating]) -> None:
        half = n_fft // 2
        turns = np.exp(-2j * np.pi * np.arange(half) / half)
        splits = np.exp(-2j * np.pi * np.arange(n_fft // 4 + 1) / n_fft)
        window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n_fft) / n_fft)
        parts = (window, turns.real, turns.imag, splits.real, splits.imag)
        self._arrays = [np.ascontiguousarray(part, dtype) for part in parts]
        radices = _radices(half)
        every = (ctypes.c_int * _MOST_STEPS)(*radices)
        addresses = (array.ctypes.data for array in self._arrays)
        self.structure = _Geometry(n_fft, hop_length, len(radices), every, *addresses)


def _geometries(n_fft: int, hop_length: int) -> tuple[_Constants, _Constants]:
    """In single and in double precision."""
    single, double = (_Constants(n_fft, hop_length, kind) for kind in (np.float32, np.float64))
    return single, double


def _halves(filters: NDArray[np.float32]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """For each bin: the number of its band plus one, its weight there and in the next band."""
    bands, bins = filters.shape
    each = np.arange(bins)
    heard = filters != 0
    many = heard.sum(axis=0)
    first = heard.argmax(axis=0)
    second = np.minimum(first + 1, bands - 1)
    both = heard[second, each] & (second > first)
    if not np.all(many <= 1 + both):
        raise ValueError("expected each bin in at most two bands, neighbours; found others")
    # Bands are stored plus one: place 0 takes the bins outside all bands.
    return (
        np.where(many, first + 1, 0).astype(np.int32),
        filters[first, each].astype(np.float32),
        np.where(both, filters[second, each], 0).astype(np.float32),
    )


def _cosine_transform(bands: int, n_mfcc: int, width: int) -> NDArray[np.float32]:
    """The orthonormal DCT-II as ``(2, (bands + 1) // 2, width)``, zero from *n_mfcc* on.

    The even coefficients come first, then the odd coefficients. Only one half of the bands is
    stored: the other half mirrors it, with the opposite sign for odd coefficients.
    """
    half = (bands + 1) // 2
    angle = np.pi / bands * np.outer(np.arange(half) + 0.5, np.arange(n_mfcc))
    columns = np.sqrt(2 / bands) * np.cos(angle)
    columns[:, :1] /= np.sqrt(2)
    transform = np.zeros((2, half, width), np.float32)
    for odd in range(2):
        part = columns[:, odd::2]
        transform[odd, :, : part.shape[1]] = part
    return transform
