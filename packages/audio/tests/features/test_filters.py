import librosa
import numpy as np
import pytest
import scipy.fft
import scipy.signal
from audioloom_audio.features.filters import cosine_transform, hann, mel_filters


@pytest.mark.filterwarnings("ignore:Empty filters detected")
@pytest.mark.parametrize("sample_rate", [1600, 8000, 11025, 16000, 22050, 44100, 48000])
@pytest.mark.parametrize("n_fft", [256, 400, 512, 2048, 4096])
@pytest.mark.parametrize("n_mels", [1, 20, 40, 80, 128])
def test_the_mel_filters_are_those_of_librosa_bit_for_bit(
    sample_rate: int, n_fft: int, n_mels: int
) -> None:
    """Not close: equal, so that the two engines differ in rounding only."""
    expected = librosa.filters.mel(sr=sample_rate, n_fft=n_fft, n_mels=n_mels)

    actual = mel_filters(sample_rate, n_fft, n_mels)

    assert expected.dtype == actual.dtype
    assert expected.tobytes() == actual.tobytes()


@pytest.mark.parametrize("length", [2, 256, 400, 2048, 4096])
def test_the_window_is_that_of_scipy_bit_for_bit(length: int) -> None:
    """The periodic Hann window, without importing scipy.signal."""
    expected = scipy.signal.get_window("hann", length, fftbins=True)

    assert expected.tobytes() == hann(length).tobytes()


@pytest.mark.parametrize("n_mels", [1, 2, 40, 127, 128])
def test_the_cosine_transform_is_that_of_scipy(n_mels: int) -> None:
    """Orthonormal, of type II, to the last digits of float64."""
    expected = scipy.fft.dct(np.eye(n_mels), axis=0, norm="ortho")

    actual = cosine_transform(n_mels, n_mels)

    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-14)


def test_tables_are_shared_and_cannot_be_written() -> None:
    """They are cached: a caller who scaled one in place would change every later recording."""
    assert mel_filters(16000, 2048, 128) is mel_filters(16000, 2048, 128)
    for table in (mel_filters(16000, 2048, 128), hann(2048)):
        with pytest.raises(ValueError, match="read-only"):
            table[0] = 0
