"""The second engine: librosa itself from samples to coefficients, imported when first asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from audioloom_mfcc.cepstra import Coefficients
from audioloom_mfcc.errors import MissingDecoder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from audioloom_mfcc.settings import MfccSettings


class LibrosaEngine:
    """``librosa.feature.mfcc`` of windows, with the settings spelled out.

    Raises:
        MissingDecoder: librosa is not installed.
    """

    def __init__(self, settings: MfccSettings) -> None:
        self._settings = settings
        try:
            import librosa  # noqa: PLC0415 - an extra, and 1.3 s
        except ImportError as error:
            raise MissingDecoder(
                "engine='librosa' needs librosa, which is not installed here: "
                "pip install 'audioloom-mfcc[librosa]', or take engine='numpy'"
            ) from error
        self._librosa: Any = librosa

    def __call__(self, padded: NDArray[np.float32], valid: int) -> Coefficients:
        """Coefficients of a window; see `CepstralEngine.__call__`."""
        del valid  # librosa computes the padding too
        settings = self._settings
        margin = settings.n_fft // 2
        with np.errstate(over="ignore", invalid="ignore"):
            mel = self._librosa.feature.melspectrogram(
                y=padded[margin:-margin],
                sr=settings.sample_rate,
                n_fft=settings.n_fft,
                hop_length=settings.hop_length,
                n_mels=settings.n_mels,
            )
        loudest = float(mel.max())
        if not np.isfinite(loudest):
            return Coefficients(np.empty((0, 0), np.float32), loudest)
        decibels = self._librosa.power_to_db(mel, top_db=settings.top_db)
        values = self._librosa.feature.mfcc(S=decibels, n_mfcc=settings.n_mfcc)
        return Coefficients(np.ascontiguousarray(values, dtype=np.float32), loudest)
