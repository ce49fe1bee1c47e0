import builtins
import io
import sys
import threading
from collections.abc import Callable
from typing import Any

import audioloom_audio_native
import librosa
import numpy as np
import pytest
from audio_settings import settings_of
from audioloom_audio import BadSettings, ExtractionSettings, MissingDecoder, extract, resolve_engine
from audioloom_audio.settings import transform_for
from numpy.typing import NDArray


@pytest.fixture
def absent(monkeypatch: pytest.MonkeyPatch) -> None:
    """audioloom-audio-native is not installed."""
    found = builtins.__import__

    def refuse(name: str, *rest: Any) -> Any:
        if name == "audioloom_audio_native":
            raise ImportError(name)
        return found(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse)


def _engine_of(wanted: ExtractionSettings) -> str:
    """Make a new transform: this thread may keep one that was made on another machine."""
    return wanted.feature.transform(wanted.window, wanted.engine).engine


def _processor(monkeypatch: pytest.MonkeyPatch, *, supported: bool) -> None:
    monkeypatch.setattr(audioloom_audio_native, "best_level", lambda: 4 if supported else 0)


def test_auto_is_the_compiled_engine_where_it_works(monkeypatch: pytest.MonkeyPatch) -> None:
    """Installed, a processor that can, and the numbers it is made for."""
    _processor(monkeypatch, supported=True)

    assert "native" == _engine_of(settings_of())


def test_auto_is_numpy_where_the_compiled_engine_is_not_installed(absent: None) -> None:
    """audioloom-audio is complete without it."""
    assert "numpy" == _engine_of(settings_of())


def test_auto_is_numpy_on_a_processor_without_avx2(monkeypatch: pytest.MonkeyPatch) -> None:
    """An old node must not end in an illegal instruction."""
    _processor(monkeypatch, supported=False)

    assert "numpy" == _engine_of(settings_of())


@pytest.mark.parametrize("changes", [{"n_fft": 1022}, {"n_fft": 16384}, {"n_mels": 300}])
def test_auto_is_numpy_for_other_numbers(changes: dict[str, int]) -> None:
    """The kernels are made for librosa's defaults."""
    assert "numpy" == _engine_of(settings_of(**changes))  # type: ignore[arg-type]


@pytest.mark.parametrize("engine", ["numpy", "native", "librosa"])
def test_what_was_asked_for_is_left_alone(engine: Any) -> None:
    """Only auto is for us to decide."""
    assert engine == resolve_engine(settings_of(engine=engine))


def test_a_compiled_engine_that_is_not_there_is_told(
    absent: None, make_wave: Callable[..., bytes]
) -> None:
    """Before the first window, with what to install."""
    with pytest.raises(MissingDecoder, match=r"with its extra native"):
        extract(io.BytesIO(make_wave(bytes(800))), settings_of(engine="native", window_seconds=0.5))


def test_a_processor_that_cannot_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """In words, not by a signal."""
    _processor(monkeypatch, supported=False)

    with pytest.raises(MissingDecoder, match="x86-64-v3"):
        transform_for(settings_of(engine="native", window_seconds=0.7))


def test_numbers_that_the_compiled_engine_is_not_made_for_are_told() -> None:
    """Asked for by name, it is not replaced silently."""
    with pytest.raises(BadSettings, match="n_fft=1022"):
        transform_for(settings_of(engine="native", n_fft=1022))


def test_each_thread_has_an_engine_of_its_own_and_keeps_it() -> None:
    """Scratch memory is reused from one recording to the next, but never shared."""
    wanted = settings_of(window_seconds=2.0)
    engines = [transform_for(wanted), transform_for(settings_of(window_seconds=2.0))]
    thread = threading.Thread(target=lambda: engines.append(transform_for(wanted)))
    thread.start()
    thread.join()

    assert engines[0] is engines[1]
    assert engines[0] is not engines[2]


def test_values_of_librosa_are_its_own_bit_for_bit(
    make_wave: Callable[..., bytes], voice: Callable[..., NDArray[np.float32]]
) -> None:
    """Samples included: resampling is soxr's either way."""
    content = make_wave((voice(8000, 100_000) * 32767).astype("<i2").tobytes())
    samples, _ = librosa.load(io.BytesIO(content), sr=16000)
    expected = [
        librosa.feature.mfcc(y=samples[:160_000], sr=16000, n_mfcc=40),
        librosa.feature.mfcc(y=np.pad(samples[160_000:], (0, 120_000)), sr=16000, n_mfcc=40),
    ]

    settings = settings_of(windows="all", normalise="none", engine="librosa")
    actual = [window.values for window in extract(io.BytesIO(content), settings)]

    assert [values.tobytes() for values in expected] == [values.tobytes() for values in actual]


def test_without_librosa_the_message_says_what_to_install(
    make_wave: Callable[..., bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And is no refusal: the recording is fine."""
    monkeypatch.setitem(sys.modules, "librosa", None)

    with pytest.raises(MissingDecoder, match="audioloom-audio again with its extra librosa"):
        extract(
            io.BytesIO(make_wave(bytes(100))), settings_of(engine="librosa", window_seconds=0.4)
        )
