"""The engine `librosa`; the library is imported at the first use."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from audioloom_audio.errors import MissingDecoder
from audioloom_audio.features.feature import WindowShape
from audioloom_audio.features.mel import MelSpectrum


class LibrosaEngine:
    """Computes mel spectra of windows by librosa, with explicit settings.

    Raises:
        MissingDecoder: librosa is not installed.
    """

    def __init__(self, settings: MelSpectrum, window: WindowShape, n_mfcc: int) -> None:
        self._settings, self._window, self._n_mfcc = settings, window, n_mfcc
        try:
            import librosa  # noqa: PLC0415 - an extra, and 1.3 s
        except ImportError as error:
            raise MissingDecoder(
                "engine='librosa' needs librosa, which is not installed here: "
                "pip install 'audioloom-audio[librosa]', or take engine='numpy'"
            ) from error
        self._librosa: Any = librosa

    def powers(self, padded: NDArray[np.float32], valid: int) -> NDArray[np.float32]:
        """Mel powers of a window, its padding too; see `MelEngine.powers`."""
        settings = self._settings
        margin = settings.n_fft // 2
        with np.errstate(over="ignore", invalid="ignore"):
            mel = self._librosa.feature.melspectrogram(
                y=padded[margin:-margin],
                sr=self._window.sample_rate,
                n_fft=settings.n_fft,
                hop_length=settings.hop_length,
                n_mels=settings.n_mels,
                fmin=settings.fmin,
                fmax=settings.fmax,
            )
        return np.ascontiguousarray(mel.T, dtype=np.float32)

    def cepstra(self, mel: NDArray[np.float32], loudest: float) -> NDArray[np.float32]:
        """Coefficients of finite powers; see `MelEngine.cepstra`."""
        levels = self._levels(mel, loudest)
        values = self._librosa.feature.mfcc(S=levels, n_mfcc=self._n_mfcc)
        return np.ascontiguousarray(values, dtype=np.float32)

    def decibels(self, mel: NDArray[np.float32], loudest: float) -> NDArray[np.float32]:
        """Levels of finite powers; see `MelEngine.decibels`."""
        return np.ascontiguousarray(self._levels(mel, loudest), dtype=np.float32)

    def _levels(self, mel: NDArray[np.float32], loudest: float) -> Any:
        # librosa clamps relative to the largest value, so *loudest* is added as a frame.
        frame = np.full((1, self._settings.n_mels), loudest, np.float32)
        powers = np.vstack([mel, frame]).T
        return self._librosa.power_to_db(powers, top_db=self._settings.top_db)[:, :-1]
