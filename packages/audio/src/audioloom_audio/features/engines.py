"""Choose the engine that computes coefficients: compiled, NumPy or librosa.

All engines agree within the contract, but not in every bit. `resolve_engine` replaces ``auto`` by
an engine that is installed and runs on this processor, so that a run can record which one it used.
"""

import threading
from dataclasses import replace
from typing import Any

from audioloom_audio import signals
from audioloom_audio.errors import AudioError, BadSettings, MissingDecoder
from audioloom_audio.features.cepstra import CepstralEngine, Kernels
from audioloom_audio.features.filters import mel_filters
from audioloom_audio.features.librosa_engine import LibrosaEngine
from audioloom_audio.settings import MfccSettings
from audioloom_audio.signals import Samples

Engine = CepstralEngine | LibrosaEngine

_local = threading.local()


def resolve_engine(settings: MfccSettings) -> MfccSettings:
    """Replace the engine ``auto`` by the fastest engine that works for the settings here."""
    if settings.engine != "auto":
        return settings
    return replace(settings, engine="numpy" if _native_obstacle(settings) else "native")


def engine_for(settings: MfccSettings) -> Engine:
    """The calling thread's engine for *settings*; all recordings of a thread share its memory.

    Raises:
        MissingDecoder: the engine is not installed, or this processor cannot run it.
        BadSettings: the compiled engine does not support these settings.
    """
    if getattr(_local, "settings", None) != settings:
        _local.engine = _make(resolve_engine(settings))
        _local.settings = settings
    engine: Engine = _local.engine
    return engine


def samples_for(settings: MfccSettings, channels: int) -> Samples:
    """The `Samples` for recordings with that many channels.

    It is compiled if the engine is compiled, except for the mean of more than two channels.
    """
    if resolve_engine(settings).engine != "native" or (settings.channels == "mix" and channels > 2):  # noqa: PLR2004
        return signals
    compiled: Samples = _native()
    return compiled


def _make(settings: MfccSettings) -> Engine:
    if settings.engine == "librosa":
        return LibrosaEngine(settings)
    filters = mel_filters(settings.sample_rate, settings.n_fft, settings.n_mels)
    if settings.engine == "numpy":
        # Imported here, as the compiled engine does not need SciPy's FFT (import: 0.3 s).
        from audioloom_audio.features.numpy_kernels import NumpyKernels  # noqa: PLC0415

        kernels = NumpyKernels(filters, settings.n_mfcc, settings.hop_length)
        return CepstralEngine(settings, kernels)
    hindrance = _native_obstacle(settings)
    if hindrance:
        raise hindrance
    compiled: Kernels = _native().NativeKernels(filters, settings.n_mfcc)
    return CepstralEngine(settings, compiled)


def _native_obstacle(settings: MfccSettings) -> AudioError | None:
    """The reason why the compiled engine cannot work for *settings* here, or None."""
    native = _native()
    if native is None:
        return MissingDecoder(
            "engine='native' needs audioloom-audio-native, which is not installed here: "
            "pip install 'audioloom-audio[native]', or take engine='numpy'"
        )
    if not native.best_level():
        return MissingDecoder(
            "engine='native' needs a processor with AVX2 and FMA (x86-64-v3), which this is not: "
            "take engine='numpy'"
        )
    geometry = (settings.n_fft, settings.hop_length)
    if geometry != (native.N_FFT, native.HOP_LENGTH) or settings.n_mels > native.MOST_BANDS:
        return BadSettings(
            f"engine: expected 'numpy' for n_fft={settings.n_fft}, hop_length="
            f"{settings.hop_length}, n_mels={settings.n_mels}; found 'native', which is for n_fft="
            f"{native.N_FFT}, hop_length={native.HOP_LENGTH}, n_mels up to {native.MOST_BANDS}"
        )
    return None


def _native() -> Any:
    try:
        import audioloom_audio_native  # noqa: PLC0415 - an optional distribution
    except ImportError:
        return None
    return audioloom_audio_native
