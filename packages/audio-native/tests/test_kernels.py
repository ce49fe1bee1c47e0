import ctypes
import mmap
import threading
from ctypes import ArgumentError

import numpy as np
import pytest
from audioloom_audio_native import (
    HOP_LENGTH,
    MOST_BANDS,
    N_FFT,
    NativeKernels,
    best_level,
    supports,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

LEVELS = [number for number in (3, 4) if number <= best_level()]
BINS = N_FFT // 2 + 1


def _triangles(bands: int) -> NDArray[np.float32]:
    """Triangular filters, narrow ones first, the lowest perhaps without a bin."""
    edges = (BINS + 5) * np.linspace(0, 1, bands + 2) ** 2 - 3
    rising = (np.arange(BINS) - edges[:-2, None]) / np.diff(edges)[:-1, None]
    falling = (edges[2:, None] - np.arange(BINS)) / np.diff(edges)[1:, None]
    return np.maximum(0, np.minimum(rising, falling)).astype(np.float32)


def _expected(
    samples: NDArray[np.float32], filters: NDArray[np.float32], hop: int = HOP_LENGTH
) -> NDArray[np.float64]:
    """The same by NumPy in float64."""
    n_fft = 2 * (filters.shape[1] - 1)
    frames = np.lib.stride_tricks.sliding_window_view(samples.astype(np.float64), n_fft)
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n_fft) / n_fft)
    power = np.abs(np.fft.rfft(frames[::hop] * window, axis=1)) ** 2
    return np.asarray(power @ filters.T.astype(np.float64))


def _few_triangles(bins: int, bands: int) -> NDArray[np.float32]:
    edges = np.linspace(-1, bins, bands + 2)
    rising = (np.arange(bins) - edges[:-2, None]) / np.diff(edges)[:-1, None]
    falling = (edges[2:, None] - np.arange(bins)) / np.diff(edges)[1:, None]
    return np.maximum(0, np.minimum(rising, falling)).astype(np.float32)


def _noise(seed: int, count: int) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal(count).astype(np.float32)


@pytest.mark.parametrize("number", LEVELS)
@given(
    count=st.integers(N_FFT, 40 * HOP_LENGTH), bands=st.integers(1, MOST_BANDS), seed=st.integers(0)
)
@settings(max_examples=40, deadline=None)
def test_powers_are_those_of_numpy(number: int, count: int, bands: int, seed: int) -> None:
    """White noise: rounding adds amplitude far below the mean, whatever the band has itself."""
    samples, filters = _noise(seed, count), _triangles(bands)
    expected = _expected(samples, filters)
    mel = np.full(expected.shape, np.nan, np.float32)

    NativeKernels(filters, 1, level=number).powers(samples, mel)

    amplitude, mean = np.sqrt(expected), np.sqrt(expected.mean())
    np.testing.assert_allclose(amplitude, np.sqrt(mel), rtol=1e-6, atol=1e-6 * mean)


@pytest.mark.parametrize("number", LEVELS)
@given(
    length=st.sampled_from([4, 6, 10, 20, 256, 400, 480, 512, 600, 1024, 2048, 2250, 4096, 8192]),
    data=st.data(),
)
@settings(max_examples=40, deadline=None)
def test_frames_of_any_length_and_hop(number: int, length: int, data: st.DataObject) -> None:
    """In single precision all frames, in double precision the chosen ones."""
    hop, seed = data.draw(st.integers(1, length)), data.draw(st.integers(0, 1000))
    samples = _noise(seed, length + data.draw(st.integers(0, 40)) * hop)
    filters = _few_triangles(length // 2 + 1, data.draw(st.integers(1, min(256, length // 2))))
    expected = _expected(samples, filters, hop)
    native = NativeKernels(filters, 1, hop, level=number)
    mel = np.full(expected.shape, np.nan, np.float32)
    native.powers(samples, mel)
    amplitude, mean = np.sqrt(expected), np.sqrt(expected.mean())
    np.testing.assert_allclose(amplitude, np.sqrt(mel), rtol=1e-6, atol=2e-6 * mean)
    chosen = data.draw(st.lists(st.integers(0, len(mel) - 1), unique=True, min_size=1))
    before = mel.copy()
    native.powers_again(samples, np.array(chosen, np.intp), mel)
    np.testing.assert_allclose(expected[chosen], mel[chosen], rtol=1e-5, atol=1e-12 * mean**2)
    others = np.setdiff1d(np.arange(len(mel)), chosen)
    assert before[others].tobytes() == mel[others].tobytes()


@pytest.mark.parametrize("length", [2, 14, 1022, 8194, 16384])
def test_lengths_that_there_are_no_kernels_for(length: int) -> None:
    """Too short, too long, or of another prime factor; nor for any odd length."""
    assert not supports(length)
    assert not supports(length + 1)
    with pytest.raises(ValueError, match="that are supported"):
        NativeKernels(np.ones((1, length // 2 + 1), np.float32), 1, 1)


@pytest.mark.parametrize("number", LEVELS)
@given(seed=st.integers(0), data=st.data())
@settings(max_examples=20, deadline=None)
def test_chosen_frames_are_done_again_in_float64_and_no_other(
    number: int, seed: int, data: st.DataObject
) -> None:
    """A tone 150 dB above the noise: float32 has lost the noise, float64 has it."""
    samples = 1e-7 * _noise(seed, 60 * HOP_LENGTH)
    samples += np.sin(np.arange(len(samples)) / 3).astype(np.float32)
    filters = _triangles(100)
    expected = _expected(samples, filters)
    native = NativeKernels(filters, 1, level=number)
    mel = np.empty(expected.shape, np.float32)
    native.powers(samples, mel)
    before = mel.copy()
    chosen = data.draw(st.lists(st.integers(0, len(mel) - 1), unique=True))

    native.powers_again(samples, np.array(chosen, np.intp), mel)

    others = np.setdiff1d(np.arange(len(mel)), chosen)
    assert before[others].tobytes() == mel[others].tobytes()
    np.testing.assert_allclose(expected[chosen], mel[chosen], rtol=1e-6)


def test_float64_is_needed_there() -> None:
    """The test above could not fail otherwise."""
    samples = 1e-7 * _noise(0, 60 * HOP_LENGTH)
    samples += np.sin(np.arange(len(samples)) / 3).astype(np.float32)
    filters = _triangles(100)
    expected = _expected(samples, filters)
    mel = np.empty(expected.shape, np.float32)

    NativeKernels(filters, 1).powers(samples, mel)

    heard = expected > 0
    assert 0.01 < np.abs(mel[heard] / expected[heard] - 1).max()


@pytest.mark.skipif(len(LEVELS) < 2, reason="this processor runs one kind of kernel only")
def test_both_instruction_sets_give_the_same_bits() -> None:
    """So does a run whose executors are of both kinds."""
    samples, filters = _noise(0, 160_000), _triangles(128)
    answers = []
    for number in LEVELS:
        mel = np.empty((309, 128), np.float32)
        native = NativeKernels(filters, 40, level=number)
        native.powers(samples, mel)
        native.powers_again(samples, np.arange(5, 100), mel)
        chosen = native.delicate(mel, 1e-3, 1.5)
        answers.append((mel.tobytes(), chosen.tobytes(), native.cepstra(mel, 1e-3).tobytes()))

    assert answers[0] == answers[1]


@pytest.mark.parametrize("number", LEVELS)
@given(frames=st.integers(1, 40))
@settings(max_examples=20, deadline=None)
def test_a_frame_has_the_same_bits_whatever_follows_it(number: int, frames: int) -> None:
    """Frames share registers with their neighbours, and nothing else."""
    samples, filters = _noise(1, 50 * HOP_LENGTH), _triangles(128)
    native = NativeKernels(filters, 1, level=number)
    every, few = np.empty((40, 128), np.float32), np.empty((frames, 128), np.float32)
    native.powers(samples, every)

    native.powers(samples[: (frames - 1) * HOP_LENGTH + N_FFT], few)

    assert every[:frames].tobytes() == few.tobytes()


@pytest.mark.parametrize("number", LEVELS)
@given(
    bands=st.integers(1, MOST_BANDS), frames=st.integers(0, 40), seed=st.integers(0), data=st.data()
)
@settings(max_examples=40, deadline=None)
def test_cepstra_are_the_cosine_transform_of_decibels(
    number: int, bands: int, frames: int, seed: int, data: st.DataObject
) -> None:
    """By NumPy in float64, over all that a float32 holds; rounding grows with the range."""
    n_mfcc = data.draw(st.integers(1, bands))
    mel = np.exp(np.random.default_rng(seed).uniform(-90, 88, (frames, bands))).astype(np.float32)
    floor = data.draw(st.sampled_from([1e-30, 1e-10, 1.0, 1e20]))
    levels = 10 * np.log10(np.maximum(mel.astype(np.float64), np.float32(floor)))
    angle = np.pi / bands * np.outer(np.arange(bands) + 0.5, np.arange(n_mfcc))
    expected = np.sqrt(2 / bands) * (levels @ np.cos(angle))
    expected[:, 0] /= np.sqrt(2)

    actual = NativeKernels(_triangles(bands), n_mfcc, level=number).cepstra(mel, floor)

    assert (n_mfcc, frames) == actual.shape
    rounding = 5e-7 * max(100, np.ptp(levels)) if frames else 0
    np.testing.assert_allclose(expected.T, actual, rtol=2e-7, atol=rounding)


@pytest.mark.parametrize("number", LEVELS)
@given(
    length=st.sampled_from([32, 512, N_FFT, 8192]),
    bands=st.integers(1, MOST_BANDS),
    seed=st.integers(0),
    limit=st.floats(1, 1e6),
)
@settings(max_examples=40, deadline=None)
def test_delicate_frames_are_those_with_quiet_bands_beside_loud_ones(
    number: int, length: int, bands: int, seed: int, limit: float
) -> None:
    """The rule by NumPy in float64; a frame within its rounding of the limit may be either.

    Short frames count their own bins, others those of 2048 samples.
    """
    bins, floor = length // 2 + 1, 1e-6
    filters = _triangles(bands) if length == N_FFT else _few_triangles(bins, bands)
    counted = bins if length < 128 else BINS
    heights = np.maximum(filters.max(axis=1), np.finfo(np.float32).tiny).astype(np.float64)
    mel = np.exp(np.random.default_rng(seed).uniform(-20, 5, (30, bands))).astype(np.float32)
    power = (mel / heights).sum(axis=1)
    counts = mel > floor / 2
    risk = power * np.where(counts, heights / mel, 0).sum(axis=1) / (counted * bands)

    actual = NativeKernels(filters, 1, level=number).delicate(mel, floor, limit)

    assert set(np.flatnonzero(risk > limit * 1.0001)) <= set(actual)
    assert set(actual) <= set(np.flatnonzero(risk > limit * 0.9999))
    assert sorted(set(actual)) == list(actual)


def test_no_cepstra_are_computed_where_none_are_wanted() -> None:
    """There is no place for them."""
    native = NativeKernels(_triangles(20), 0)
    with pytest.raises(ValueError, match="1 or more coefficients, found 0"):
        native.cepstra(np.ones((5, 20), np.float32), 1e-6)


def test_nothing_is_written_beside_the_rows() -> None:
    """Rows are written a block of bands at a time, and the last block may be part of one."""
    filters = _triangles(37)
    room = np.full((25, 37), 7, np.float32)

    NativeKernels(filters, 1).powers(_noise(0, 30 * HOP_LENGTH), room[1:24])

    assert [7.0] == sorted({*room[0], *room[24]})


@pytest.mark.parametrize("number", LEVELS)
@pytest.mark.parametrize("bands", [1, 5, 15, 16, 17, 40])
def test_nothing_is_read_behind_the_last_frame(number: int, bands: int) -> None:
    """Vectors are loaded whole, and the page behind the powers cannot be read: that would crash."""
    room = mmap.mmap(-1, 2 * mmap.PAGESIZE)
    whole = np.frombuffer(room, np.float32)
    behind = ctypes.c_void_p(whole.ctypes.data + mmap.PAGESIZE)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mprotect(behind, ctypes.c_size_t(mmap.PAGESIZE), 0):
        raise OSError(ctypes.get_errno(), "mprotect")
    powers = whole[: mmap.PAGESIZE // 4]
    powers[:] = 1
    native = NativeKernels(_triangles(bands), 1, level=number)
    for frames in range(1, 20):
        mel = powers[len(powers) - frames * bands :].reshape(frames, bands)
        assert len(native.delicate(mel, 1e-6, 1e38)) == 0
        assert native.cepstra(mel, 1e-6).shape == (1, frames)


def test_two_threads_do_not_share_scratch_memory() -> None:
    """The kernels run without the interpreter's lock."""
    samples, filters = _noise(2, 600 * HOP_LENGTH), _triangles(128)
    native = NativeKernels(filters, 1)
    mels = np.zeros((4, 590, 128), np.float32)
    threads = [threading.Thread(target=native.powers, args=(samples, mel)) for mel in mels]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert 1 == len({mel.tobytes() for mel in mels})


@pytest.mark.parametrize(
    ("samples", "mel"),
    [
        (np.zeros(4096), np.zeros((1, 9), np.float32)),
        (np.zeros((2, 4096), np.float32), np.zeros((1, 9), np.float32)),
        (np.zeros(8192, np.float32)[::2], np.zeros((1, 9), np.float32)),
        (np.zeros(4096, np.float32), np.zeros((1, 9))),
        (np.zeros(4096, np.float32), np.zeros((1, 8), np.float32)),
        (np.zeros(4096, np.float32), np.zeros((1, 18), np.float32)[:, ::2]),
        (np.zeros(4096, np.float32), np.zeros((6, 9), np.float32)),
        (np.zeros(2047, np.float32), np.zeros((1, 9), np.float32)),
    ],
    ids=["float64", "stereo", "strided", "wide mel", "few bands", "strided mel", "frames", "short"],
)
def test_arrays_that_the_kernels_would_run_out_of_are_refused(
    samples: NDArray[np.floating], mel: NDArray[np.floating]
) -> None:
    """C takes what it is given."""
    with pytest.raises((ValueError, ArgumentError), match=r"expected|must have"):
        NativeKernels(_triangles(9), 9).powers(samples, mel)  # type: ignore[arg-type]


@pytest.mark.parametrize("number", [-1, 5, 2**40])
def test_rows_that_are_not_there_are_refused(number: int) -> None:
    """They would be written all the same."""
    native, mel = NativeKernels(_triangles(9), 9), np.zeros((5, 9), np.float32)

    with pytest.raises(ValueError, match=f"0 to 4.*{number}"):
        native.powers_again(np.zeros(4096, np.float32), np.array([1, number]), mel)


@pytest.mark.parametrize("n_mfcc", [-1, 10])
def test_more_coefficients_than_bands_are_refused(n_mfcc: int) -> None:
    """They would be read from behind the transform."""
    with pytest.raises(ValueError, match=f"0 to 9.*{n_mfcc}"):
        NativeKernels(_triangles(9), n_mfcc)


def test_a_mel_that_is_not_the_filters_is_refused() -> None:
    """By each step that reads one."""
    native, mel = NativeKernels(_triangles(9), 9), np.ones((5, 8), np.float32)

    with pytest.raises(ValueError, match="9 bands, found 8"):
        native.delicate(mel, 1e-3, 400)
    with pytest.raises(ValueError, match="9 bands, found 8"):
        native.cepstra(mel, 1e-3)


def test_filters_that_the_kernels_are_not_made_for_are_refused() -> None:
    """Not triangles, too many, too short."""
    wide = np.zeros((3, BINS), np.float32)
    wide[:, 5] = 1
    apart = np.zeros((3, BINS), np.float32)
    apart[[0, 2], 5] = 1
    for filters in (
        wide,
        apart,
        _triangles(MOST_BANDS + 1),
        np.zeros((0, BINS), np.float32),
        _triangles(9)[:, :-1],
    ):
        with pytest.raises(ValueError, match="expected"):
            NativeKernels(filters, 1)


@pytest.mark.parametrize("number", [0, 2, best_level() + 1])
def test_an_instruction_set_that_is_not_here_is_refused(number: int) -> None:
    """It would end the process."""
    with pytest.raises(ValueError, match="v3 or v4"):
        NativeKernels(_triangles(9), 5, level=number)
