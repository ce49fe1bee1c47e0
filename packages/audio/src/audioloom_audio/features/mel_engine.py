"""Compute mel powers, decibels and cepstra of a window by librosa's arithmetic, rearranged.

Kept from librosa: centred frames over zeros, Hann, power spectrum, Slaney mel filters, decibels
with a floor of 1e-10 and ``top_db``, orthonormal DCT-II. Changed: float32 throughout, and the order
of the work (`numpy_kernels`, or the compiled audioloom-audio-native).

A float32 FFT spreads rounding noise about 140 dB below the frame's power over all bins. If a band
above the floor is nearly as quiet as this noise (tones over line noise, clean speech), the result
would differ by up to 6e-4 from librosa, which transforms in float64. Only these delicate frames are
computed again in float64; their mel powers show them. The noise of a frame comes from all of its
power, so that of the bins below and above all bands is summed too, as a band of its own.
"""

import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from audioloom_audio.features.feature import POWER_FLOOR, WindowShape
from audioloom_audio.features.mel import MelSpectrum

DECIBELS = 10 / math.log(10)
# Frames above this limit are computed again in float64. The worst error of c1 and up grows with the
# root of the limit, and is 8e-5 here (1e-4 is promised). Every thirtieth frame of speech over line
# noise is above the limit, and every third frame of clean telephone prompts.
_DELICATE = 20.0**2
# In other frames than long ones of a power of two: bands of short frames have few bins, over which
# the noise averages less (1.05e-4 for 128 samples at the limit above), and a transform of a large
# prime factor has more noise (1.01e-4 for 1762 samples).
_DELICATE_ELSEWHERE, _LONG = 7.0**2, 1024


class Kernels(Protocol):
    """The steps of an engine. Arrays are float32; mel powers are ``(frames, n_mels)``."""

    @property
    def block(self) -> int:
        """Frames that are computed together; their last digits depend on each other."""

    def powers(self, samples: NDArray[np.float32], mel: NDArray[np.float32]) -> None:
        """Write the powers of the first frames of *samples* to *mel*, one frame per row."""

    def powers_again(
        self, samples: NDArray[np.float32], numbers: NDArray[np.intp], mel: NDArray[np.float32]
    ) -> None:
        """Compute the rows *numbers* of *mel* again, from a float64 transform."""

    def delicate(self, mel: NDArray[np.float32], floor: float, limit: float) -> NDArray[np.intp]:
        """Find the numbers of frames with bands too quiet for a float32 transform."""

    def cepstra(self, mel: NDArray[np.float32], floor: float) -> NDArray[np.float32]:
        """Coefficients ``(n_mfcc, frames)`` of *mel* raised to *floor*; may overwrite *mel*."""


class MelEngine:
    """Computes mel spectra of windows; each thread needs its own, as it holds scratch memory.

    Args:
        settings: of the spectrum.
        window: the samples.
        spectra: kernels of the bands, with a band more for the bins *below* and *above* them.
        kernels: kernels of the bands alone; the same object if there are no others.
        below: 1 if the first band of *spectra* is that of the bins below, else 0.
        above: 1 if the last band of *spectra* is that of the bins above, else 0.
    """

    def __init__(
        self,
        settings: MelSpectrum,
        window: WindowShape,
        spectra: Kernels,
        kernels: Kernels,
        below: int,
        above: int,
    ) -> None:
        self._settings = settings
        self._spectra, self._kernels = spectra, kernels
        bands = below + settings.n_mels + above
        self._mel = np.empty((settings.frames(window), bands), np.float32)
        long = settings.n_fft >= _LONG and settings.n_fft.bit_count() == 1
        self._delicate = _DELICATE if long else _DELICATE_ELSEWHERE
        self._bands = slice(below, below + settings.n_mels)

    def powers(self, padded: NDArray[np.float32], valid: int) -> NDArray[np.float32]:
        """Compute mel powers ``(frames, n_mels)`` of a window, valid until the next call.

        They are infinite or NaN where float32 overflowed.

        Args:
            padded: The window's samples with ``n_fft // 2`` zeros on either side,
                ``(window_samples + n_fft,)``.
            valid: Samples that were recorded; all later samples are zero.
        """
        hop, n_fft, mel = self._settings.hop_length, self._settings.n_fft, self._mel
        with np.errstate(over="ignore", invalid="ignore"):
            # Frames wholly in the padding have no power. Only whole blocks of them are skipped, so
            # that a frame is always computed with the same neighbours.
            heard = 1 + (valid + n_fft // 2 - 1) // hop
            block = self._spectra.block
            computed = -(-heard // block) * block
            mel[computed:] = 0
            self._spectra.powers(padded, mel[:computed])
            # A later, louder window may raise the floor: it never makes more frames delicate.
            floor = self._floor(float(mel[:, self._bands].max()))
            delicate = self._spectra.delicate(mel, floor, self._delicate)
            if len(delicate):
                self._spectra.powers_again(padded, delicate, mel)
        return np.ascontiguousarray(mel[:, self._bands])

    def cepstra(self, mel: NDArray[np.float32], loudest: float) -> NDArray[np.float32]:
        """Compute coefficients ``(n_mfcc, frames)`` in decibels from finite powers.

        Args:
            mel: The result of `powers`; may be overwritten.
            loudest: The power that *top_db* is relative to; at least the largest of *mel*.
        """
        return self._kernels.cepstra(mel, self._floor(loudest))

    def decibels(self, mel: NDArray[np.float32], loudest: float) -> NDArray[np.float32]:
        """Compute levels ``(n_mels, frames)`` in decibels; see `cepstra`."""
        floor = self._floor(loudest)
        # Levels relative to the floor are small, so float32 does not round them all to one side.
        mel *= np.float32(1 / floor)
        np.maximum(mel, 1, out=mel)
        np.log(mel, out=mel)  # not log10, as in the kernels
        mel *= np.float32(DECIBELS)
        mel += np.float32(DECIBELS * math.log(floor))
        return np.ascontiguousarray(mel.T)

    def _floor(self, loudest: float) -> float:
        """The power to which all lower powers are raised: ``top_db`` below the loudest."""
        return max(float(POWER_FLOOR), loudest * 10 ** (-self._settings.top_db / 10))
