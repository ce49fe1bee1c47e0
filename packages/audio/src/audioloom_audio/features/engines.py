"""Choose the engine that computes mel spectra: compiled, NumPy or librosa.

All engines agree within the contract, but not in every bit. A transform says which one computes, so
that a run can record it.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from audioloom_audio.errors import AudioError, BadSettings, MissingDecoder
from audioloom_audio.features.feature import Analysis, Engine, Transform, WindowShape
from audioloom_audio.features.filters import bins_outside, mel_filters
from audioloom_audio.features.mel import MelSpectrum
from audioloom_audio.features.mel_engine import Kernels, MelEngine


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
                "install audioloom-audio again with its extra librosa, or take engine='numpy'"
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


def mel_transform(
    settings: MelSpectrum, window: WindowShape, engine: Engine, n_mfcc: int = 0
) -> Transform:
    """Make the transform to *n_mfcc* cepstra, or to the levels of the bands if that is 0.

    Raises:
        MissingDecoder: the engine is not installed, or this processor cannot run it.
        BadSettings: the compiled engine does not support these settings.
    """
    if engine == "auto":
        engine = "numpy" if _native_obstacle(settings, window) else "native"
    made = _engine(settings, window, engine, n_mfcc)

    def analyse(padded: NDArray[np.float32], valid: int) -> Analysis:
        mel = made.powers(padded, valid)
        return Analysis(mel, float(mel.max()))

    kept = (settings.frames(window), settings.n_mels)
    values = made.cepstra if n_mfcc else made.decibels
    return Transform(engine, settings.n_fft // 2, kept, analyse, values)


def native() -> Any:
    """The package of the compiled kernels, or None if it is not installed."""
    try:
        import audioloom_audio_native  # noqa: PLC0415 - an optional distribution
    except ImportError:
        return None
    return audioloom_audio_native


def _engine(
    settings: MelSpectrum, window: WindowShape, chosen: str, n_mfcc: int
) -> MelEngine | LibrosaEngine:
    if chosen == "librosa":
        return LibrosaEngine(settings, window, n_mfcc)
    if chosen == "native" and (obstacle := _native_obstacle(settings, window)):
        raise obstacle
    below, filters, above = _filters(settings, window)
    kernels = _kernels(chosen, filters, n_mfcc, settings.hop_length)
    spectra = kernels
    if len(below) or len(above):
        spectra = _kernels(chosen, np.vstack([below, filters, above]), 0, settings.hop_length)
    return MelEngine(settings, window, spectra, kernels, len(below), len(above))


def _filters(settings: MelSpectrum, window: WindowShape) -> tuple[NDArray[np.float32], ...]:
    """The filters of the bins below all bands, of the bands, and of the bins above."""
    rate, highest = window.sample_rate, settings.highest(window)
    filters = mel_filters(rate, settings.n_fft, settings.n_mels, settings.fmin, highest)
    below, above = bins_outside(filters)
    return below, filters, above


def _kernels(chosen: str, filters: Any, n_mfcc: int, hop_length: int) -> Kernels:
    if chosen == "native":
        compiled: Kernels = native().NativeKernels(filters, n_mfcc, hop_length)
        return compiled
    # Imported here, as the compiled engine does not need SciPy's FFT (import: 0.3 s).
    from audioloom_audio.features.numpy_kernels import NumpyKernels  # noqa: PLC0415

    return NumpyKernels(filters, n_mfcc, hop_length)


def _native_obstacle(settings: MelSpectrum, window: WindowShape) -> AudioError | None:
    """The reason why the compiled engine cannot work for *settings* here, or None."""
    found = native()
    if found is None:
        return MissingDecoder(
            "engine='native' needs audioloom-audio-native, which is not installed here: "
            "install audioloom-audio again with its extra native, or take engine='numpy'"
        )
    if not found.best_level():
        return MissingDecoder(
            "engine='native' needs a processor with AVX2 and FMA (x86-64-v3), which this is not: "
            "take engine='numpy'"
        )
    bands = sum(map(len, _filters(settings, window)))
    if not found.supports(settings.n_fft) or bands > found.MOST_BANDS:
        return BadSettings(
            f"engine: expected 'numpy' for n_fft={settings.n_fft}, n_mels={settings.n_mels}; found"
            f" 'native', which is for n_fft up to {found.LONGEST_FRAME} whose half has no prime"
            f" factor but 2, 3 and 5, and for n_mels up to {found.MOST_BANDS - 2}"
        )
    return None
