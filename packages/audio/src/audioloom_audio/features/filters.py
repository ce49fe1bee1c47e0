"""Constant tables: mel filters, the analysis window, the cosine transform.

Filters and window equal librosa's bit for bit. They are computed here because a worker process that
imports librosa pays 1.3 s and 180 MB.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

# Slaney's Auditory Toolbox: linear to 1 kHz, then 27 steps for every factor of 6.4.
_HZ_PER_MEL = 200.0 / 3
_BREAK_HZ = 1000.0
_BREAK_MEL = _BREAK_HZ / _HZ_PER_MEL
_LOG_STEP = np.log(6.4) / 27.0


@lru_cache(maxsize=8)
def mel_filters(
    sample_rate: int, n_fft: int, n_mels: int, fmin: float = 0.0, fmax: float | None = None
) -> NDArray[np.float32]:
    """Compute triangular filters on Slaney's mel scale, each of unit area.

    Returns:
        Read-only float32 matrix ``(n_mels, n_fft // 2 + 1)``, equal to
        ``librosa.filters.mel`` with the same arguments.
    """
    edges = _edge_frequencies(n_mels, fmin, sample_rate / 2 if fmax is None else fmax)
    widths = np.diff(edges)
    distance = np.subtract.outer(edges, np.fft.rfftfreq(n=n_fft, d=1.0 / sample_rate))
    filters = np.zeros((n_mels, n_fft // 2 + 1), dtype=np.float32)
    for band in range(n_mels):
        rising = -distance[band] / widths[band]
        falling = distance[band + 2] / widths[band + 1]
        filters[band] = np.maximum(0, np.minimum(rising, falling))
    # float32 times float64 in place, as in librosa: the rounding is part of the contract.
    filters *= (2.0 / (edges[2:] - edges[:-2]))[:, np.newaxis]
    filters.flags.writeable = False
    return filters


def bins_outside(filters: NDArray[np.float32]) -> tuple[NDArray[np.float32], ...]:
    """Filters of weight 1 for the bins below all bands, and for those above.

    Returns:
        Two float32 arrays ``(rows, n_fft // 2 + 1)`` of one row each, or of none where the bands
        begin with bin 0 or 1, or end with the last bin or the one before.
    """
    heard = np.flatnonzero(filters.any(axis=0))
    first, last = (heard[0], heard[-1]) if len(heard) else (filters.shape[1], -1)
    below, above = np.zeros((2, 1, filters.shape[1]), np.float32)
    below[0, :first] = 1
    above[0, last + 1 :] = 1 if len(heard) else 0
    return (below if first > 1 else below[:0], above if above.sum() > 1 else above[:0])


def _edge_frequencies(n_mels: int, lowest: float, highest: float) -> NDArray[np.float64]:
    """``n_mels + 2`` frequencies in Hz from *lowest* to *highest*, evenly spaced in mel."""
    mels = np.linspace(_hz_to_mel(lowest), _hz_to_mel(highest), n_mels + 2)
    hertz = _HZ_PER_MEL * mels
    upper = mels >= _BREAK_MEL
    hertz[upper] = _BREAK_HZ * np.exp(_LOG_STEP * (mels[upper] - _BREAK_MEL))
    return hertz


def _hz_to_mel(hertz: float) -> float:
    if hertz < _BREAK_HZ:
        return hertz / _HZ_PER_MEL
    return float(_BREAK_MEL + np.log(hertz / _BREAK_HZ) / _LOG_STEP)


@lru_cache(maxsize=8)
def hann(length: int) -> NDArray[np.float64]:
    """Periodic Hann window, read-only float64 ``(length,)``, equal to scipy's."""
    angle = np.linspace(-np.pi, np.pi, length + 1)[:-1]
    window: NDArray[np.float64] = 0.5 + 0.5 * np.cos(angle)
    window.flags.writeable = False
    return window


@lru_cache(maxsize=8)
def cosine_transform(n_mels: int, n_mfcc: int) -> NDArray[np.float64]:
    """The first rows of the orthonormal DCT-II, read-only float64 ``(n_mfcc, n_mels)``."""
    angle = np.pi / n_mels * np.outer(np.arange(n_mfcc), np.arange(n_mels) + 0.5)
    rows: NDArray[np.float64] = np.sqrt(2 / n_mels) * np.cos(angle)
    rows[:1] /= np.sqrt(2)
    rows.flags.writeable = False
    return rows
