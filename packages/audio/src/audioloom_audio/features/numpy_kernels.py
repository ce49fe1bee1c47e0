"""Compute the coefficients of a window from its samples, by NumPy and SciPy.

The arithmetic is float32, 64 frames at a time (they stay in the cache). The mel product of a group
of bands covers only their own bins: the 128 x 1025 matrix has two non-zeros per column.

The bits of the result do not depend on the number of BLAS threads: every product is small enough
for OpenBLAS to use one thread, and the FFT uses one worker.
"""

import math
from typing import Final, NamedTuple

import numpy as np
import scipy.fft
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from audioloom_audio.features.filters import cosine_transform, hann
from audioloom_audio.features.mel_engine import DECIBELS

BLOCK: Final = 64  # frames at a time; measured as the fastest, also for 313 frames
_BANDS = 16  # mel bands per product
# OpenBLAS stays in the calling thread up to this many multiplications per product.
ONE_THREAD = 1 << 18


class _Group(NamedTuple):
    bands: slice
    bins: slice
    weights: NDArray[np.float32]  # (bins, bands)


class NumpyKernels:
    """`Kernels` by NumPy and SciPy; each thread needs its own, as it holds scratch memory."""

    block: Final = BLOCK

    def __init__(self, filters: NDArray[np.float32], n_mfcc: int, hop_length: int) -> None:
        """Take *filters* ``(n_mels, n_fft // 2 + 1)``; 0 *n_mfcc* if no cepstra are wanted."""
        bins = filters.shape[1]
        # The product also converts natural logarithms to decibels.
        self._transform = (DECIBELS * cosine_transform(len(filters), n_mfcc)).astype(np.float32)
        self._frames_a_product = max(1, ONE_THREAD // max(1, self._transform.size))
        # A band too narrow to contain a bin has no height and no power.
        self._heights = np.maximum(filters.max(axis=1), np.finfo(np.float32).tiny)
        self._by_height = 1 / self._heights
        n_fft = 2 * (bins - 1)
        self._hop, self._n_fft = hop_length, n_fft
        self._wide_window = hann(n_fft)
        self._window = self._wide_window.astype(np.float32)
        self._groups = band_groups(filters)
        self._frames = np.empty((BLOCK, n_fft), np.float32)
        self._power = np.empty((BLOCK, bins), np.float32)
        self._square = np.empty((BLOCK, bins), np.float32)
        self._wide_frames = np.empty((BLOCK, n_fft), np.float64)

    def powers(self, samples: NDArray[np.float32], mel: NDArray[np.float32]) -> None:
        """Write the powers of the first frames of *samples* to *mel*, in whole blocks."""
        frames = self._frames_of(samples)
        for start in range(0, len(mel), BLOCK):
            stop = min(start + BLOCK, len(frames))
            windowed = self._frames[: stop - start]
            np.multiply(frames[start:stop], self._window, out=windowed)
            spectrum = scipy.fft.rfft(windowed, axis=1, overwrite_x=True, workers=1)
            self._to_mel(spectrum, mel[start:stop])

    def powers_again(
        self, samples: NDArray[np.float32], numbers: NDArray[np.intp], mel: NDArray[np.float32]
    ) -> None:
        """Compute the rows *numbers* of *mel* again, from a float64 transform."""
        frames = self._frames_of(samples)
        for start in range(0, len(numbers), BLOCK):
            chosen = numbers[start : start + BLOCK]
            windowed = self._wide_frames[: len(chosen)]
            np.multiply(frames[chosen], self._wide_window, out=windowed)
            spectrum = scipy.fft.rfft(windowed, axis=1, overwrite_x=True, workers=1)
            refined = np.empty((len(chosen), mel.shape[1]), np.float32)
            self._to_mel(spectrum, refined)
            mel[chosen] = refined

    def delicate(self, mel: NDArray[np.float32], floor: float, limit: float) -> NDArray[np.intp]:
        """Find the numbers of frames with bands too quiet for a float32 transform."""
        # The transform spreads noise evenly over the bins, in proportion to the frame's power.
        # Filters before their scaling by height add up to one in every bin, so this sum is the
        # frame's power. No BLAS: a product of this size might use threads.
        power = np.einsum("fb,b->f", mel, self._by_height)
        # Each band's sensitivity to noise in its bins. Noise has no effect on bands below the
        # floor, because they are raised to the floor.
        half = np.float32(floor / 2)
        sensitivity = np.maximum(mel, half)
        np.divide(self._heights, sensitivity, out=sensitivity)
        sensitivity *= mel > half
        risk = power * np.einsum("fb->f", sensitivity)
        return np.flatnonzero(risk > limit * self._power.shape[1] * mel.shape[1])

    def cepstra(self, mel: NDArray[np.float32], floor: float) -> NDArray[np.float32]:
        """Cosine transform of the decibels of *mel* raised to *floor*; overwrites *mel*."""
        # Levels relative to the floor are small, and zero in silence, so float32 does not round all
        # of them to the same side, which would add up in c0.
        mel *= np.float32(1 / floor)
        np.maximum(mel, 1, out=mel)
        # Not log10: NumPy has vector code for it on AVX-512 only; elsewhere it is 5 times slower.
        np.log(mel, out=mel)
        # The mean over the bands affects only c0. Within the float32 product it would make c0 wrong
        # by 1e-3.
        mean = mel.mean(axis=1)
        mel -= mean[:, None]
        cepstra = np.empty((len(self._transform), len(mel)), np.float32)
        for start in range(0, len(mel), self._frames_a_product):
            frames = slice(start, start + self._frames_a_product)
            np.matmul(self._transform, mel[frames].T, out=cepstra[:, frames])
        common = (mean + np.float64(math.log(floor))) * (DECIBELS * math.sqrt(mel.shape[1]))
        cepstra[0] += common
        return cepstra

    def _frames_of(self, samples: NDArray[np.float32]) -> NDArray[np.float32]:
        """A view of all whole, overlapping frames ``(frames, n_fft)`` of *samples*."""
        (step,) = samples.strides
        count = 1 + (len(samples) - self._n_fft) // self._hop
        strides = (self._hop * step, step)
        return as_strided(samples, (count, self._n_fft), strides, writeable=False)

    def _to_mel(self, spectrum: NDArray[np.complexfloating], out: NDArray[np.float32]) -> None:
        rows = slice(0, len(spectrum))
        power = np.square(spectrum.real, out=self._power[rows], casting="same_kind")
        power += np.square(spectrum.imag, out=self._square[rows], casting="same_kind")
        for group in self._groups:
            np.matmul(power[:, group.bins], group.weights, out=out[:, group.bands])


def band_groups(filters: NDArray[np.float32]) -> list[_Group]:
    """Group neighbouring bands, each group with all bins in which a band has weight."""
    groups = []
    first = 0
    while first < len(filters):
        last = min(first + _BANDS, len(filters))
        low, high = _heard_bins(filters[first:last])
        while BLOCK * (last - first) * (high - low) > ONE_THREAD and last - first > 1:
            last -= 1
            low, high = _heard_bins(filters[first:last])
        weights = np.ascontiguousarray(filters[first:last, low:high].T)
        groups.append(_Group(slice(first, last), slice(low, high), weights))
        first = last
    return groups


def _heard_bins(filters: NDArray[np.float32]) -> tuple[int, int]:
    heard = np.flatnonzero(filters.any(axis=0))
    # Bands too narrow to contain a bin are all zero: one bin of weight zero keeps the group valid.
    return (int(heard[0]), int(heard[-1]) + 1) if len(heard) else (0, 1)
