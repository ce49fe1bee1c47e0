"""The engine `librosa`; the library is imported at the first use."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from audioloom_audio.errors import MissingDecoder
from audioloom_audio.settings import MfccSettings


class LibrosaEngine:
    """Computes ``librosa.feature.mfcc`` of windows with explicit settings.

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
                "pip install 'audioloom-audio[librosa]', or take engine='numpy'"
            ) from error
        self._librosa: Any = librosa

    def powers(self, padded: NDArray[np.float32], valid: int) -> NDArray[np.float32]:
        """Mel powers of a window; see `CepstralEngine.powers`."""
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
        return np.ascontiguousarray(mel.T, dtype=np.float32)

    def cepstra(self, mel: NDArray[np.float32], loudest: float) -> NDArray[np.float32]:
        """Coefficients of finite powers; see `CepstralEngine.cepstra`."""
        settings = self._settings
        # librosa clamps relative to the largest value, so *loudest* is added as a frame.
        powers = np.vstack([mel, np.full((1, settings.n_mels), loudest, np.float32)])
        decibels = self._librosa.power_to_db(powers.T, top_db=settings.top_db)[:, :-1]
        values = self._librosa.feature.mfcc(S=decibels, n_mfcc=settings.n_mfcc)
        return np.ascontiguousarray(values, dtype=np.float32)
