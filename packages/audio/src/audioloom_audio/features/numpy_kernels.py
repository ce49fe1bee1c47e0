"""The steps from the samples of a window to its coefficients, by NumPy and SciPy.

The arithmetic is float32, 64 frames at a time (they stay in the cache). The mel product of a group
of bands covers only their own bins: the 128 x 1025 matrix has two non-zeros a column.

The bits of the result do not depend on the number of threads of the BLAS: every product is small
enough for OpenBLAS to take it in one thread, and the FFT is asked for one worker.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import scipy.fft
from numpy.lib.stride_tricks import as_strided

from audioloom_audio.features.filters import cosine_transform, hann, wide_hann

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCK: Final = 64  # frames at a time; measured best, and 313 frames lose nothing by it
_BANDS = 16  # mel bands a product
# OpenBLAS stays in the calling thread up to this many multiplications a product.
ONE_THREAD = 1 << 18
_DECIBELS = 10 / math.log(10)


class _Group(NamedTuple):
    bands: slice
    bins: slice
    weights: NDArray[np.float32]  # (bins, bands)


class NumpyKernels:
    """`Kernels` by NumPy and SciPy; holds scratch memory, so one a thread."""

    block: Final = BLOCK

    def __init__(self, filters: NDArray[np.float32], n_mfcc: int, hop_length: int) -> None:
        """Take *filters* ``(n_mels, n_fft // 2 + 1)``."""
        bins = filters.shape[1]
        # From natural logarithms to decibels in the same product.
        self._transform = (_DECIBELS * cosine_transform(len(filters), n_mfcc)).astype(np.float32)
        self._frames_a_product = max(1, ONE_THREAD // self._transform.size)
        # A band too narrow to hold a bin has no height, and no power either.
        self._heights = np.maximum(filters.max(axis=1), np.finfo(np.float32).tiny)
        self._by_height = 1 / self._heights
        n_fft = 2 * (bins - 1)
        self._hop, self._n_fft = hop_length, n_fft
        self._window = hann(n_fft)
        self._groups = band_groups(filters)
        self._frames = np.empty((BLOCK, n_fft), np.float32)
        self._power = np.empty((BLOCK, bins), np.float32)
        self._square = np.empty((BLOCK, bins), np.float32)
        self._wide_window = wide_hann(n_fft)
        self._wide_frames = np.empty((BLOCK, n_fft), np.float64)

    def powers(self, samples: NDArray[np.float32], mel: NDArray[np.float32]) -> None:
        """The mel powers of the first frames of *samples*, as many as *mel* ``(frames, n_mels)``.

        Frames are computed in whole blocks, so a frame is always computed among the same
        neighbours, however many are asked for.
        """
        frames = self._frames_of(samples)
        for start in range(0, len(mel), BLOCK):
            stop = min(start + BLOCK, len(frames))
            windowed = self._frames[: stop - start]
            np.multiply(frames[start:stop], self._window, out=windowed)
            spectrum = scipy.fft.rfft(windowed, axis=1, overwrite_x=True, workers=1)
            self._to_mel(spectrum, mel[start:stop])

    def powers_again(
        self,
        samples: NDArray[np.float32],
        numbers: NDArray[np.intp],
        mel: NDArray[np.float32],
    ) -> None:
        """The rows *numbers* of *mel* anew, from a float64 transform."""
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
        """Numbers of the frames whose quiet bands a float32 transform would spoil."""
        # Noise of the transform is spread evenly over the bins, relative to the power of the
        # frame. Filters before their scaling by height add up to one in every bin, so this is
        # that power. No BLAS: a product of this size might use threads.
        power = np.einsum("fb,b->f", mel, self._by_height)
        # Each band's sensitivity to noise in its bins; bands under the floor come out as the
        # floor whatever their noise.
        half = np.float32(floor / 2)
        sensitivity = np.maximum(mel, half)
        np.divide(self._heights, sensitivity, out=sensitivity)
        sensitivity *= mel > half
        risk = power * np.einsum("fb->f", sensitivity)
        return np.flatnonzero(risk > limit * self._power.shape[1] * mel.shape[1])

    def cepstra(self, mel: NDArray[np.float32], floor: float) -> NDArray[np.float32]:
        """Decibels, at least those of *floor*, then the cosine transform; *mel* is used up."""
        # Levels over the floor, which are small numbers and zero where nothing is heard: float32
        # does not round them all to the same side, which c0 would hear.
        mel *= np.float32(1 / floor)
        np.maximum(mel, 1, out=mel)
        # Not log10, for which NumPy has vector code on AVX-512 alone: five times slower elsewhere.
        np.log(mel, out=mel)
        # What all bands have in common is heard in c0 alone. With it in the products of float32,
        # c0 would be wrong by 1e-3.
        mean = mel.mean(axis=1)
        mel -= mean[:, None]
        cepstra = np.empty((len(self._transform), len(mel)), np.float32)
        for start in range(0, len(mel), self._frames_a_product):
            frames = slice(start, start + self._frames_a_product)
            np.matmul(self._transform, mel[frames].T, out=cepstra[:, frames])
        common = (mean + np.float64(math.log(floor))) * (_DECIBELS * math.sqrt(mel.shape[1]))
        cepstra[0] += common
        return cepstra

    def _frames_of(self, samples: NDArray[np.float32]) -> NDArray[np.float32]:
        """All whole frames ``(frames, n_fft)`` of *samples*, overlapping: a view."""
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
    """Runs of neighbouring bands with the bins that any of them hears."""
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
    # Bands too narrow to hold a bin are all zero: one bin of weight zero keeps the shapes plain.
    return (int(heard[0]), int(heard[-1]) + 1) if len(heard) else (0, 1)
