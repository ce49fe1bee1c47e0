import math
from typing import Literal

import librosa
import numpy as np
import pytest
from audio_opening import refused
from audioloom_audio import signals
from audioloom_audio.signals import MIX, Resampler, signal_numbers, take_signals
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

RATES = [1000, 7919, 8000, 11025, 22050, 44099, 44100, 48000, 96000, 128000, 768000]


def _noise(samples: int) -> NDArray[np.float32]:
    return 0.1 * np.random.default_rng(samples).standard_normal(samples, dtype=np.float32)


def _stream(
    samples: NDArray[np.float32], rate: int, cuts: list[int], to: int = 16000
) -> NDArray[np.float32]:
    resampler = Resampler(rate, to)
    output = []
    for piece in np.split(samples, sorted(cuts)):
        output += [part.copy() for part in resampler.push(piece)]
    output += list(resampler.finish())
    return np.concatenate(output)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize(
    "samples", [1, 2, 511, 16383, 16384, 16385, 32767, 32768, 32769, 44101, 150_000]
)
def test_a_stream_is_resampled_as_librosa_resamples_the_whole(rate: int, samples: int) -> None:
    """Bit for bit, and to the same length: soxr alone ends a sample early at 44101."""
    signal = _noise(samples)
    expected = librosa.resample(signal, orig_sr=rate, target_sr=16000)

    actual = _stream(signal, rate, [samples // 3, samples // 3, samples - 1])

    assert expected.tobytes() == actual.tobytes()


@given(
    rate=st.sampled_from([8000, 22050, 44100]),
    samples=st.integers(1, 60_000),
    cuts=st.lists(st.integers(0, 60_000), max_size=8),
)
@settings(max_examples=60)
def test_the_bits_do_not_depend_on_how_the_samples_arrive(
    rate: int, samples: int, cuts: list[int]
) -> None:
    """A decoder cuts its blocks as it likes."""
    signal = _noise(samples)

    assert (
        _stream(signal, rate, []).tobytes()
        == _stream(signal, rate, [min(cut, samples) for cut in cuts]).tobytes()
    )


def test_samples_one_at_a_time_make_the_same_stream() -> None:
    """The smallest pieces there are."""
    signal = _noise(3000)

    assert _stream(signal, 8000, []).tobytes() == _stream(signal, 8000, [*range(3000)]).tobytes()


def test_a_recording_at_the_wanted_rate_passes_untouched() -> None:
    """No filter at all."""
    signal = _noise(1000)

    assert signal.tobytes() == _stream(signal, 16000, [10, 500]).tobytes()


def test_nothing_comes_from_nothing() -> None:
    """No sample went in, none comes out, not even the rounding's."""
    assert [] == list(Resampler(8000, 16000).finish())


@pytest.mark.parametrize(
    ("samples", "expected"),
    [([], 0.0), ([0.25, -0.5], 0.5), ([0.5, -0.25], 0.5), ([-np.inf, 1.0], np.inf)],
)
def test_peak_is_the_largest_magnitude(samples: list[float], expected: float) -> None:
    """Of either sign."""
    assert expected == signals.peak(np.array(samples, np.float32))


@pytest.mark.parametrize("place", [0, 7, 99])
def test_nan_shows_in_the_peak(place: int) -> None:
    """Wherever it is."""
    samples = np.linspace(-1, 1, 100).astype(np.float32)
    samples[place] = np.nan

    assert math.isnan(signals.peak(samples))


@pytest.mark.parametrize(
    ("wanted", "channels", "numbers"),
    [
        ("mix", 1, (MIX,)),
        ("mix", 6, (MIX,)),
        ("split", 1, (0,)),
        ("split", 3, (0, 1, 2)),
        ("left", 1, (0,)),
        ("left", 2, (0,)),
        ("right", 2, (1,)),
    ],
)
def test_which_signals_are_taken(
    wanted: Literal["mix", "split", "left", "right"], channels: int, numbers: tuple[int, ...]
) -> None:
    """The mix is numbered -1, for it is no channel."""
    assert numbers == signal_numbers(wanted, channels, "x")


def test_a_mono_recording_has_no_right_channel() -> None:
    """Taking the only one instead would put the agent's voice where the customer's belongs."""
    with refused("bad_channels", match=r"x: expected two channels, .* found a mono"):
        signal_numbers("right", 1, "x")


def test_too_many_channels_are_refused() -> None:
    """Each costs a window of memory, and 65535 of them can be claimed in two bytes."""
    with refused("bad_channels", match="at most 64 channels, found 65535"):
        signal_numbers("split", 65535, "x")


@pytest.mark.parametrize("channels", [1, 2, 3, 5, 7])
def test_the_mix_is_numpys_mean_bit_for_bit(channels: int) -> None:
    """Librosa's mono is np.mean over the channels."""
    block = np.random.default_rng(channels).standard_normal((1000, channels), dtype=np.float32)

    (mixed,) = take_signals(block, (MIX,))

    assert np.mean(block.T, axis=0).tobytes() == mixed.tobytes()


@pytest.mark.parametrize("channels", [2, 3, 9])
def test_the_mix_does_not_depend_on_the_length_of_the_block(channels: int) -> None:
    """NumPy's own mean adds in another order when a block is short."""
    block = np.random.default_rng(1).standard_normal((50, channels), dtype=np.float32)
    (whole,) = take_signals(block, (MIX,))

    pieces = [take_signals(block[i : i + 1], (MIX,))[0] for i in range(50)]

    assert whole.tobytes() == np.concatenate(pieces).tobytes()
