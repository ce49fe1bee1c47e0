from typing import Any

import numpy as np
import pytest
from audio_opening import refused
from audio_settings import settings_of
from audioloom_audio import ExtractionSettings, Waveform, Window
from audioloom_audio.windows import Windower
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

SMALL: dict[str, Any] = {"window_seconds": 0.1, "n_fft": 512, "hop_length": 160, "n_mels": 40}


def _noise(samples: int, seed: int = 0) -> NDArray[np.float32]:
    return 0.1 * np.random.default_rng(seed).standard_normal(samples, dtype=np.float32)


def _windows(
    samples: NDArray[np.float32], cuts: list[int] | None = None, **changes: object
) -> list[Window]:
    options: dict[str, Any] = SMALL | {"windows": "all"} | changes
    settings = settings_of(**options)
    windower = Windower(3, settings.sample_rate, settings, "x")
    windows = []
    for piece in np.split(samples, sorted(cuts or [])):
        windows += list(windower.push(piece))
    return windows + list(windower.finish())


@pytest.mark.parametrize(
    ("samples", "valid", "frames"),
    [
        (1, [1], [1]),
        (159, [159], [1]),
        (160, [160], [2]),
        (1599, [1599], [10]),
        (1600, [1600], [11]),
        (1601, [1600, 1], [11, 1]),
        (4000, [1600, 1600, 800], [11, 11, 6]),
    ],
)
def test_windows_follow_each_other_and_the_last_is_padded(
    samples: int, valid: list[int], frames: list[int]
) -> None:
    """Each says how much of it was recorded."""
    windows = _windows(_noise(samples))

    assert [3] * len(valid) == [window.channel for window in windows]
    assert list(range(len(valid))) == [window.window for window in windows]
    assert [0.1 * i for i in range(len(valid))] == pytest.approx(
        [window.start_seconds for window in windows]
    )
    assert valid == [window.valid_samples for window in windows]
    assert frames == [window.valid_frames for window in windows]
    assert {(40, 11)} == {window.values.shape for window in windows}


def test_nothing_makes_no_window() -> None:
    """An empty signal is not a window of silence."""
    assert [] == _windows(_noise(0))


def test_a_window_is_a_clip_of_its_own() -> None:
    """A shout in one second changes nothing in the next, though both are clamped 80 dB below."""
    whisper, shout = 1e-3 * _noise(1600), 9 * _noise(1600, seed=1)

    (alone,) = _windows(whisper)
    after = _windows(np.concatenate([shout, whisper]))[1]

    assert alone.values.tobytes() == after.values.tobytes()


def test_the_padding_of_the_last_window_holds_nothing_of_the_one_before() -> None:
    """The memory is used again."""
    first, second = _noise(1600), _noise(100, seed=1)

    (alone,) = _windows(second)
    after = _windows(np.concatenate([first, second]))[1]

    assert alone.values.tobytes() == after.values.tobytes()


def test_first_is_one_window_and_no_more() -> None:
    """Whatever follows."""
    windows = _windows(_noise(8000), [100, 5000], windows="first")

    assert [(0, 1600)] == [(window.window, window.valid_samples) for window in windows]


@given(samples=st.integers(1, 6000), cuts=st.lists(st.integers(0, 6000), max_size=8))
@settings(max_examples=60)
def test_the_bits_do_not_depend_on_how_the_samples_arrive(samples: int, cuts: list[int]) -> None:
    """Values, order and every number beside them."""
    signal = _noise(samples, seed=samples)
    expected = _windows(signal)

    actual = _windows(signal, [min(cut, samples) for cut in cuts])

    assert len(expected) == len(actual)
    for one, other in zip(expected, actual, strict=True):
        assert one.values.tobytes() == other.values.tobytes()
        assert (one.window, one.valid_samples, one.flags) == (
            other.window,
            other.valid_samples,
            other.flags,
        )


def test_values_are_normalised_over_the_window() -> None:
    """Mean 0 and deviation 1 over all coefficients and frames together."""
    (plain,) = _windows(_noise(1600), normalise="none")
    (window,) = _windows(_noise(1600))

    expected = (plain.values - plain.values.mean()) / plain.values.std()
    assert np.abs(expected - window.values).max() <= 1e-6
    assert abs(window.values.mean(dtype=np.float64)) <= 1e-6
    assert abs(window.values.std(dtype=np.float64) - 1) <= 1e-6
    assert () == window.flags


@given(samples=st.integers(1, 6000), hop=st.integers(100, 4000), cut=st.integers(0, 6000))
@settings(max_examples=60, deadline=None)
def test_windows_a_hop_apart_are_those_of_the_signal_from_there_on(
    samples: int, hop: int, cut: int
) -> None:
    """Overlapping, touching or apart; the last is the first to reach the signal's end."""
    signal = _noise(samples, seed=samples)
    starts = [0] + [at for at in range(hop, samples, hop) if samples > at - hop + 1600]

    windows = _windows(signal, [min(cut, samples)], hop_seconds=hop / 16000)

    assert starts == [round(window.start_seconds * 16000) for window in windows]
    for start, window in zip(starts, windows, strict=True):
        (alone,) = _windows(signal[start : start + 1600])
        assert alone.valid_samples == window.valid_samples
        assert alone.values.tobytes() == window.values.tobytes()


@pytest.mark.parametrize("engine", ["numpy", "librosa"])
def test_the_level_of_a_recording_is_that_of_its_loudest_window(engine: str) -> None:
    """Whispers beside a shout are raised to the line 80 dB below the shout; the shout is not."""
    whisper, shout = 1e-4 * _noise(1600), 9 * _noise(1600, seed=1)
    signal = np.concatenate([whisper, shout, whisper[:800]])

    before, loud, after = _windows(signal, level="recording", normalise="none", engine=engine)

    (alone,) = _windows(shout, normalise="none", engine=engine)
    assert alone.values.tobytes() == loud.values.tobytes()
    # All bands at the line: c0 says where it is, and nothing is left of the rest.
    assert np.ptp(before.values[0]) <= 1e-3
    assert np.abs(before.values[1:]).max() <= 1e-3
    assert before.values[0, 0] == pytest.approx(after.values[0, 0])
    assert [1600, 1600, 800] == [window.valid_samples for window in (before, loud, after)]


@pytest.mark.parametrize("windows", ["first", "all"])
def test_the_level_of_a_recording_is_heard_to_its_end(windows: str) -> None:
    """Also where only the first window is wanted."""
    signal = np.concatenate([1e-4 * _noise(1600), 9 * _noise(1600, seed=1)])

    first = _windows(signal, [7, 2000], level="recording", windows=windows)[0]
    alone = _windows(signal[:1600])[0]

    assert alone.values.tobytes() != first.values.tobytes()
    assert {"first": 1, "all": 2}[windows] == len(
        _windows(signal, level="recording", windows=windows)
    )


def test_a_recording_of_one_level_is_the_same_either_way() -> None:
    """One window: its loudest band is the recording's."""
    (expected,) = _windows(_noise(1600))

    (actual,) = _windows(_noise(1600), level="recording")

    assert expected.values.tobytes() == actual.values.tobytes()


def test_silence_is_flagged_and_finite() -> None:
    """Its values are those of the naive pipeline: one constant frame, normalised."""
    (window,) = _windows(np.zeros(1600, np.float32))

    assert ("silent",) == window.flags
    assert np.isfinite(window.values).all()
    assert (window.values == window.values[:, :1]).all()
    assert window.values[0, 0] < -1 < window.values[1, 0]


def test_silence_before_normalisation_is_the_floor() -> None:
    """-100 dB in every band: c0 alone is not zero."""
    (window,) = _windows(np.zeros(1600, np.float32), normalise="none")

    assert -100 * np.sqrt(40) == pytest.approx(window.values[0])
    assert np.abs(window.values[1:]).max() <= 1e-4


def test_the_quietest_recorded_step_is_not_silence() -> None:
    """Noise of one step of 16 bits is a signal, if a poor one."""
    steps = np.random.default_rng(0).integers(-1, 2, 1600)

    (window,) = _windows((steps / 32768).astype(np.float32))

    assert () == window.flags


def test_nothing_to_normalise_by_is_flagged_and_zero() -> None:
    """One coefficient of silence has no deviation: never NaN."""
    (window,) = _windows(np.zeros(1600, np.float32), n_mfcc=1)

    assert ("silent", "constant") == window.flags
    assert not window.values.any()


def test_float16_is_the_same_rounded() -> None:
    """Half the bytes, for archives whose features outweigh the recordings."""
    (wide,) = _windows(_noise(1600))
    (window,) = _windows(_noise(1600), dtype="float16")

    assert np.float16 == window.values.dtype
    assert wide.values.astype(np.float16).tobytes() == window.values.tobytes()


@pytest.mark.parametrize("largest", [65_504, -65_504])
def test_values_that_float16_does_not_hold_are_refused(largest: float) -> None:
    """Infinite values would be committed, and train a network of NaN."""
    changes: dict[str, Any] = {"feature": Waveform(), "window_seconds": 0.1, "windows": "all"}
    settings = ExtractionSettings(**changes, dtype="float16", normalise="none")
    signal = np.zeros(3200, np.float32)
    signal[[500, 2000]] = largest, 2 * largest
    windower = Windower(0, settings.sample_rate, settings, "x")
    (first,) = windower.push(signal[:2000])

    assert largest == first.values[0, 500]
    with refused("out_of_range", match=r"x: expected .* float16 .* in the window at 0\.1 s"):
        list(windower.push(signal[2000:]))


def test_values_are_in_c_order_and_belong_to_the_window() -> None:
    """A window kept while the next is computed keeps its values."""
    signal = _noise(3200)
    copies = [window.values.copy() for window in _windows(signal)]

    windows = _windows(signal)

    assert all(window.values.flags.c_contiguous for window in windows)
    assert [values.tobytes() for values in copies] == [w.values.tobytes() for w in windows]


@pytest.mark.parametrize("engine", ["numpy", "librosa"])
def test_samples_too_large_for_float32_are_refused(engine: str) -> None:
    """A window of NaN would train a network of NaN."""
    signal = _noise(4000)
    signal[2000] = 1e38

    with refused("out_of_range", match=r"x: expected .* in the window at 0\.1 s"):
        _windows(signal, engine=engine)
