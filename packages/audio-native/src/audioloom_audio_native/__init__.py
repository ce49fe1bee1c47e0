"""Codes to samples to mel powers to cepstral coefficients, compiled for AVX2 and AVX-512.

audioloom-audio uses this where it is installed (``engine="auto"`` or ``"native"``). It is made for
one geometry, frames of `N_FFT` samples `HOP_LENGTH` apart under at most `MOST_BANDS` triangular
filters, and knows nothing but samples and filters.
"""

from audioloom_audio_native.kernels import HOP_LENGTH, MOST_BANDS, N_FFT, NativeKernels
from audioloom_audio_native.library import best_level, supported
from audioloom_audio_native.samples import peak, signal

__all__ = [
    "HOP_LENGTH",
    "MOST_BANDS",
    "N_FFT",
    "NativeKernels",
    "best_level",
    "peak",
    "signal",
    "supported",
]
