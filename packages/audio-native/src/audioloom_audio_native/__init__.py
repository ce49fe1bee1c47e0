"""Convert codes to samples, mel powers and cepstral coefficients, compiled for AVX2 and AVX-512.

audioloom-audio uses this package if it is installed (``engine="auto"`` or ``"native"``). It
`supports` frames of many lengths, any hop apart, and at most `MOST_BANDS` triangular filters.
Frames of `N_FFT` samples, `HOP_LENGTH` apart, have kernels of their own.
"""

from audioloom_audio_native.kernels import (
    HOP_LENGTH,
    LONGEST_FRAME,
    MOST_BANDS,
    N_FFT,
    NativeKernels,
    supports,
)
from audioloom_audio_native.library import best_level
from audioloom_audio_native.samples import peak, signal

__all__ = [
    "HOP_LENGTH",
    "LONGEST_FRAME",
    "MOST_BANDS",
    "N_FFT",
    "NativeKernels",
    "best_level",
    "peak",
    "signal",
    "supports",
]
