"""Samples of one window to its coefficients: librosa's arithmetic, rearranged for speed.

Kept from librosa: centred frames over zeros, Hann, power spectrum, Slaney mel filters, decibels
with a floor of 1e-10 and ``top_db``, orthonormal DCT-II. Changed: float32 throughout, and the order
of the work (`numpy_kernels`, or the compiled audioloom-audio-native).

A float32 FFT spreads a rounding noise some 140 dB below the frame's power over all bins. Where a
band that counts is nearly as quiet as that (tones over line noise, clean speech) librosa, which
transforms in float64, would differ by up to 6e-4. Those frames are found by their mel powers and
done again in float64; all others are spared it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from audioloom_audio.settings import MfccSettings

POWER_FLOOR = np.float32(1e-10)  # librosa's amin: -100 dB
# Frames above this are done again in float64. The worst error of c1 and up grows with the root of
# it, and is 8e-5 here (1e-4 is promised). Of speech over line noise every thirtieth frame lies
# above, of clean telephone prompts every third.
_DELICATE = 20.0**2


class Kernels(Protocol):
    """The steps of an engine. Arrays are float32; mel powers are ``(frames, n_mels)``."""

    @property
    def block(self) -> int:
        """Frames that are computed together, and owe their last digits to each other."""

    def powers(self, samples: NDArray[np.float32], mel: NDArray[np.float32]) -> None:
        """Write to *mel* the powers of the first frames of *samples*, as many as it has rows."""

    def powers_again(
        self, samples: NDArray[np.float32], numbers: NDArray[np.intp], mel: NDArray[np.float32]
    ) -> None:
        """Write the rows *numbers* of *mel* anew, from a float64 transform."""

    def delicate(self, mel: NDArray[np.float32], floor: float, limit: float) -> NDArray[np.intp]:
        """Numbers of the frames whose quiet bands a float32 transform would spoil."""

    def cepstra(self, mel: NDArray[np.float32], floor: float) -> NDArray[np.float32]:
        """Coefficients ``(n_mfcc, frames)`` of *mel* raised to *floor*; *mel* may be used up."""


class CepstralEngine:
    """MFCC of windows, one at a time; holds scratch memory, so one a thread."""

    def __init__(self, settings: MfccSettings, kernels: Kernels) -> None:
        self._settings = settings
        self._kernels = kernels
        self._mel = np.empty((settings.frames, settings.n_mels), np.float32)

    def powers(self, padded: NDArray[np.float32], valid: int) -> NDArray[np.float32]:
        """Mel powers ``(frames, n_mels)`` of a window, good until the next call.

        They are infinite or NaN where float32 overflowed.

        Args:
            padded: The window's samples with ``n_fft // 2`` zeros on either side,
                ``(window_samples + n_fft,)``.
            valid: Samples that were recorded; all behind them are zero.
        """
        hop, n_fft, mel = self._settings.hop_length, self._settings.n_fft, self._mel
        with np.errstate(over="ignore", invalid="ignore"):
            # Frames that lie wholly in the padding have no power: only whole blocks are left
            # out, so that a frame is always computed among the same neighbours.
            heard = 1 + (valid + n_fft // 2 - 1) // hop
            block = self._kernels.block
            computed = -(-heard // block) * block
            mel[computed:] = 0
            self._kernels.powers(padded, mel[:computed])
            # A louder window may raise the floor later: no more frames are delicate then.
            delicate = self._kernels.delicate(mel, self._floor(float(mel.max())), _DELICATE)
            if len(delicate):
                self._kernels.powers_again(padded, delicate, mel)
        return mel

    def cepstra(self, mel: NDArray[np.float32], loudest: float) -> NDArray[np.float32]:
        """Coefficients ``(n_mfcc, frames)``, decibels, of finite powers, which are used up.

        Args:
            mel: What `powers` answered.
            loudest: The power below which *top_db* counts; no less than the largest of *mel*.
        """
        return self._kernels.cepstra(mel, self._floor(loudest))

    def _floor(self, loudest: float) -> float:
        """The power up to which everything is raised: ``top_db`` below the loudest."""
        return max(float(POWER_FLOOR), loudest * 10 ** (-self._settings.top_db / 10))
