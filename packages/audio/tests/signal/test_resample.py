import librosa
import numpy as np
import pytest
from audioloom_audio.signal.resample import Resampler
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
