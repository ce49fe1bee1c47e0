import math
from typing import Literal

import numpy as np
import pytest
from audio_opening import refused
from audioloom_audio.signal import codes
from audioloom_audio.signal.codes import MIX, signal_numbers, take_signals


@pytest.mark.parametrize(
    ("samples", "expected"),
    [([], 0.0), ([0.25, -0.5], 0.5), ([0.5, -0.25], 0.5), ([-np.inf, 1.0], np.inf)],
)
def test_peak_is_the_largest_magnitude(samples: list[float], expected: float) -> None:
    """Of either sign."""
    assert expected == codes.peak(np.array(samples, np.float32))


@pytest.mark.parametrize("place", [0, 7, 99])
def test_nan_shows_in_the_peak(place: int) -> None:
    """Wherever it is."""
    samples = np.linspace(-1, 1, 100).astype(np.float32)
    samples[place] = np.nan

    assert math.isnan(codes.peak(samples))


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
