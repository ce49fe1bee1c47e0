"""Samples of one window to its coefficients: librosa's arithmetic, rearranged for speed.

Kept from librosa: centred frames over zeros, Hann, power spectrum, Slaney mel filters, decibels
with a floor of 1e-10 and ``top_db``, orthonormal DCT-II. Changed: float32 throughout, 64 frames at
a time (they stay in the cache), and the mel product taken over each group of bands' own bins (the
128 x 1025 matrix has two non-zeros a column).

A float32 FFT spreads a rounding noise some 140 dB below the frame's power over all bins. Where a
band that counts is nearly as quiet as that (tones over line noise, clean speech) librosa, which
transforms in float64, would differ by up to 6e-4. Those frames are found by their mel powers and
done again in float64; all others are spared it, and it is the larger half of the work.

The bits of the result do not depend on the number of threads of the BLAS: every product is small
enough for OpenBLAS to take it in one thread, and the FFT is asked for one worker.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.fft
from numpy.lib.stride_tricks import as_strided

from audioloom_mfcc.tables import hann, mel_filters, wide_hann

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from audioloom_mfcc.settings import MfccSettings

POWER_FLOOR = np.float32(1e-10)  # librosa's amin: -100 dB
_BLOCK = 64  # frames at a time; measured best, and 313 frames lose nothing by it
_BANDS = 16  # mel bands a product
_ROW_PADDING = 16  # floats; rows exactly 8 KiB apart would share cache sets
# Frames above this are done again in float64. The worst error of c1 and up grows with the root of
# it, and is 8e-5 here (1e-4 is promised); of telephone speech every fourth frame lies above.
_DELICATE = 20.0**2
# OpenBLAS stays in the calling thread up to this many multiplications a product.
_ONE_THREAD = 1 << 18


class Coefficients(NamedTuple):
    """What an engine makes of one window.

    Attributes:
        values: float32 ``(n_mfcc, frames)``, decibels.
        loudest: The largest mel power in the window; not finite when float32 overflowed.
    """

    values: NDArray[np.float32]
    loudest: float


class _Group(NamedTuple):
    bands: slice
    bins: slice
    weights: NDArray[np.float32]  # (bins, bands)


class NumpyEngine:
    """MFCC of windows, one at a time; holds scratch memory, so one a thread."""

    def __init__(self, settings: MfccSettings) -> None:
        self._settings = settings
        n_fft, n_mels = settings.n_fft, settings.n_mels
        bins = n_fft // 2 + 1
        self._window = hann(n_fft)
        filters = mel_filters(settings.sample_rate, n_fft, n_mels)
        self._groups = _band_groups(filters)
        # A band too narrow to hold a bin has no height, and no power either.
        self._heights = np.maximum(filters.max(axis=1), np.finfo(np.float32).tiny)
        self._frames = np.empty((_BLOCK, n_fft + _ROW_PADDING), np.float32)[:, :n_fft]
        self._power = np.empty((_BLOCK, bins), np.float32)
        self._square = np.empty((_BLOCK, bins), np.float32)
        self._mel = np.empty((settings.frames, n_mels), np.float32)
        self._wide_window = wide_hann(n_fft)
        self._wide_frames = np.empty((_BLOCK, n_fft + _ROW_PADDING), np.float64)[:, :n_fft]

    def __call__(self, padded: NDArray[np.float32], valid: int) -> Coefficients:
        """Coefficients of a window.

        Args:
            padded: The window's samples with ``n_fft // 2`` zeros on either side,
                ``(window_samples + n_fft,)``.
            valid: Samples that were recorded; all behind them are zero.
        """
        hop, n_fft, step = self._settings.hop_length, self._settings.n_fft, padded.strides[0]
        frames = as_strided(
            padded, (self._settings.frames, n_fft), (hop * step, step), writeable=False
        )
        with np.errstate(over="ignore", invalid="ignore"):
            # Frames that lie wholly in the padding have no power: only whole blocks are left
            # out, so that a frame is always computed among the same neighbours.
            heard = 1 + (valid + n_fft // 2 - 1) // hop
            mel = self._mel_power(frames, -(-heard // _BLOCK) * _BLOCK)
            self._refine(frames, mel, self._floor(mel.max()))
            loudest = mel.max()
            if not np.isfinite(loudest):
                return Coefficients(np.empty((0, 0), np.float32), float(loudest))
            return Coefficients(self._decibels_to_cepstra(mel, loudest), float(loudest))

    def _floor(self, loudest: np.float32) -> np.float32:
        """The power up to which everything is raised."""
        return max(POWER_FLOOR, loudest * np.float32(10 ** (-self._settings.top_db / 10)))

    def _mel_power(self, frames: NDArray[np.float32], computed: int) -> NDArray[np.float32]:
        """Mel power ``(frames, n_mels)``, zero from *computed* on; reused by the next call."""
        mel = self._mel
        mel[computed:] = 0
        for start in range(0, min(computed, len(mel)), _BLOCK):
            stop = min(start + _BLOCK, len(mel))
            rows = slice(0, stop - start)
            windowed = np.multiply(frames[start:stop], self._window, out=self._frames[rows])
            spectrum = scipy.fft.rfft(windowed, axis=1, overwrite_x=True, workers=1)
            self._to_mel(spectrum, mel[start:stop])
        return mel

    def _to_mel(self, spectrum: NDArray[np.complexfloating], out: NDArray[np.float32]) -> None:
        rows = slice(0, len(spectrum))
        power = np.square(spectrum.real, out=self._power[rows], casting="same_kind")
        power += np.square(spectrum.imag, out=self._square[rows], casting="same_kind")
        for group in self._groups:
            np.matmul(power[:, group.bins], group.weights, out=out[:, group.bands])

    def _refine(
        self, frames: NDArray[np.float32], mel: NDArray[np.float32], floor: np.float32
    ) -> None:
        """Do the delicate frames again, from a float64 transform."""
        # Filters before their scaling by height add up to one in every bin, so this is the
        # frame's power. Plain sums: a BLAS product of this size might use threads.
        power = (mel / self._heights).sum(axis=1)
        # Each band's sensitivity to noise in its bins; bands under the floor come out as the
        # floor whatever their noise.
        sensitivity = np.where(mel > floor / 2, self._heights, 0) / np.maximum(mel, floor / 2)
        risk = power * sensitivity.sum(axis=1) / (self._power.shape[1] * mel.shape[1])
        delicate = np.flatnonzero(risk > _DELICATE)
        for start in range(0, len(delicate), _BLOCK):
            chosen = delicate[start : start + _BLOCK]
            rows = slice(0, len(chosen))
            windowed = np.multiply(frames[chosen], self._wide_window, out=self._wide_frames[rows])
            spectrum = scipy.fft.rfft(windowed, axis=1, overwrite_x=True, workers=1)
            refined = np.empty((len(chosen), mel.shape[1]), np.float32)
            self._to_mel(spectrum, refined)
            mel[chosen] = refined

    def _decibels_to_cepstra(
        self, mel: NDArray[np.float32], loudest: np.float32
    ) -> NDArray[np.float32]:
        """Decibels, clamped below the loudest band, then the cosine transform."""
        np.maximum(mel, POWER_FLOOR, out=mel)
        np.log10(mel, out=mel)
        mel *= np.float32(10)
        top = np.float32(10) * np.log10(np.maximum(loudest, POWER_FLOOR))
        np.maximum(mel, top - np.float32(self._settings.top_db), out=mel)
        # pocketfft in float32, as librosa: a float32 matmul here would cost 1e-3 in c0.
        cepstra = scipy.fft.dct(mel, axis=1, norm="ortho", workers=1)
        return np.ascontiguousarray(cepstra[:, : self._settings.n_mfcc].T)


def _band_groups(filters: NDArray[np.float32]) -> list[_Group]:
    """Runs of neighbouring bands with the bins that any of them hears."""
    groups = []
    first = 0
    while first < len(filters):
        last = min(first + _BANDS, len(filters))
        low, high = _heard_bins(filters[first:last])
        while _BLOCK * (last - first) * (high - low) > _ONE_THREAD and last - first > 1:
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


_scratch = threading.local()


def numpy_engine(settings: MfccSettings) -> NumpyEngine:
    """The calling thread's engine for *settings*: its memory serves one recording after another."""
    if getattr(_scratch, "settings", None) != settings:
        _scratch.engine = NumpyEngine(settings)
        _scratch.settings = settings
    engine: NumpyEngine = _scratch.engine
    return engine
