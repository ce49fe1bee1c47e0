import io
from collections.abc import Callable
from typing import Any

import librosa
import numpy as np
import pytest
from audio_opening import probe, refused
from audio_settings import settings_of
from audioloom_audio import RefusedRecording, Summary, Window, extract
from audioloom_audio.decoding import pcm, sndfile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

Make = Callable[..., bytes]
Voice = Callable[..., NDArray[np.float32]]

SMALL: dict[str, Any] = {
    "window_seconds": 0.25,
    "n_fft": 512,
    "hop_length": 160,
    "n_mels": 40,
    "windows": "all",
}


def _run(content: bytes, **changes: object) -> tuple[list[Window], Summary]:
    options: dict[str, Any] = {"windows": "all"} | changes
    extraction = extract(io.BytesIO(content), settings_of(**options), name="a/b.wav")
    return list(extraction), extraction.summary


def _pcm(samples: NDArray[np.floating]) -> bytes:
    return np.round(np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes()


@pytest.mark.parametrize("rate", [8000, 16000, 44100])
@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize(
    "length",
    [
        *("1", "511", "512", "1025", "2048", "10s-1", "10s", "10s+1"),
        *(
            pytest.param(each, marks=pytest.mark.slow)
            for each in ("2", "513", "1023", "1024", "2047", "2049", "5000", "60s")
        ),
    ],
)
def test_windows_are_those_of_librosa_within_the_contract(
    rate: int, channels: int, length: str, encode: Make, voice: Voice
) -> None:
    """From the file's bytes: c0 3e-4, the others 1e-4, normalised 1e-5."""
    number, seconds, change = length.partition("s")
    samples = int(number) * (rate if seconds else 1) + int(change or 0)
    content = encode(voice(rate, samples, channels), rate, "WAV", "PCM_16")
    signal, _ = librosa.load(io.BytesIO(content), sr=16000, mono=True)

    windows, summary = _run(content, normalise="none")
    normalised, _ = _run(content)

    assert -(-len(signal) // 160_000) == len(windows) == len(normalised)
    assert (samples, True) == (summary.frames_read, summary.complete)
    for window, other in zip(windows, normalised, strict=True):
        clip = signal[window.window * 160_000 :][:160_000]
        expected = librosa.feature.mfcc(
            y=np.pad(clip, (0, 160_000 - len(clip))), sr=16000, n_mfcc=40
        )
        difference = np.abs(expected - window.values)
        assert (len(clip), 1 + len(clip) // 512) == (window.valid_samples, window.valid_frames)
        assert 3e-4 >= difference[0].max()
        assert 1e-4 >= difference[1:].max()
        naive = (expected - np.mean(expected)) / np.std(expected)
        assert 1e-5 >= np.abs(naive - other.values).max()


@given(data=st.data(), rate=st.sampled_from([8000, 16000, 22050]), channels=st.integers(1, 3))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.parametrize("coding", ["PCM_16", "ULAW", "PCM_24", "FLOAT"])
def test_the_bits_do_not_depend_on_blocks_or_on_short_reads(
    coding: str,
    data: st.DataObject,
    rate: int,
    channels: int,
    *,
    encode: Make,
    voice: Voice,
) -> None:
    """However the decoder cuts its blocks and the storage its answers; windows come in order."""

    class Trickle(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            most = data.draw(st.sampled_from([1, 100, 5000, 1 << 20])) if self.tell() > 5000 else 99
            return super().read(most if size is None or size < 0 else min(most, size))

    samples = data.draw(st.integers(1, 30_000))
    content = encode(voice(rate, samples, channels), rate, "WAV", coding)
    wanted = settings_of(**SMALL, channels=data.draw(st.sampled_from(["mix", "split", "left"])))
    expected = list(extract(io.BytesIO(content), wanted))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pcm, "_BLOCK_SAMPLES", data.draw(st.integers(1000, 50_000)))
        patch.setattr(sndfile, "_BLOCK_SAMPLES", data.draw(st.integers(1000, 50_000)))
        actual = list(extract(Trickle(content), wanted))

    order = [(window.window, window.channel) for window in expected]
    assert sorted(order) == order == [(window.window, window.channel) for window in actual]
    assert [w.values.tobytes() for w in expected] == [w.values.tobytes() for w in actual]


@pytest.mark.parametrize(
    ("channels", "numbers"),
    [("mix", {-1}), ("split", {0, 1}), ("left", {0}), ("right", {1})],
)
def test_channels_are_taken_apart_or_together(
    channels: str, numbers: set[int], make_wave: Make, voice: Voice
) -> None:
    """Agent left, customer right: each as if recorded alone."""
    stereo = voice(8000, 20_000, 2)
    content = make_wave(_pcm(stereo), channels=2)

    windows, _ = _run(content, **SMALL, channels=channels)

    assert numbers == {window.channel for window in windows}
    for number in numbers - {-1}:
        alone, _ = _run(make_wave(_pcm(stereo[:, number])), **SMALL)
        assert [window.values.tobytes() for window in alone] == [
            window.values.tobytes() for window in windows if window.channel == number
        ]


def test_opposite_channels_cancel_in_the_mix_only(make_wave: Make, voice: Voice) -> None:
    """A line wired the wrong way round: silent mixed, audible split."""
    mono = voice(8000, 8000)
    content = make_wave(_pcm(np.stack([mono, -mono], axis=1)), channels=2)

    _, mixed = _run(content)
    _, split = _run(content, channels="split")

    assert ("silent",) == mixed.flags
    assert () == split.flags


class _Counting(io.BytesIO):
    total = 0

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        self.total += len(data)
        return data


@pytest.mark.parametrize("coding", ["PCM_16", "PCM_24", "FLAC"])
def test_first_stops_reading_after_the_first_window(
    coding: str, encode: Make, voice: Voice
) -> None:
    """Ten seconds of an hour cost ten seconds."""
    signal = voice(8000, 600_000)
    form, coding = ("FLAC", "PCM_16") if coding == "FLAC" else ("WAV", coding)
    source = _Counting(encode(signal, 8000, form, coding))

    extraction = extract(source)
    windows = list(extraction)

    assert [(0, 160_000)] == [(window.window, window.valid_samples) for window in windows]
    assert not extraction.summary.complete
    assert 80_000 < extraction.summary.frames_read < 150_000
    assert source.total < len(source.getvalue()) * 0.3
    assert 75.0 == extraction.recording.seconds


def test_first_is_the_first_of_all(make_wave: Make, voice: Voice) -> None:
    """The same window, whether or not more are wanted."""
    content = make_wave(_pcm(voice(8000, 200_000)))

    (first,), _ = _run(content, windows="first")
    every, _ = _run(content)

    assert 3 == len(every)
    assert every[0].values.tobytes() == first.values.tobytes()


def test_samples_are_decoded_as_windows_are_asked_for(make_wave: Make, voice: Voice) -> None:
    """Lazily: the caller writes one away before the next is read."""
    source = _Counting(make_wave(_pcm(voice(8000, 600_000))))
    extraction = extract(source, settings_of(windows="all"))
    header_only = source.total

    next(extraction)

    assert header_only < 1000
    assert source.total < len(source.getvalue()) * 0.3
    assert (1, False) == (extraction.summary.windows, extraction.summary.complete)


@pytest.mark.parametrize("coding", ["PCM_16", "PCM_24"])
def test_leaving_early_ends_the_windows_and_keeps_the_source_open(
    coding: str, encode: Make, voice: Voice
) -> None:
    """The source is the caller's."""
    source = io.BytesIO(encode(voice(8000, 300_000), 8000, "WAV", coding))
    with extract(source, settings_of(windows="all")) as extraction:
        next(extraction)

    assert [] == list(extraction)
    assert not source.closed


def test_a_refusal_may_come_after_windows(encode: Make, voice: Voice) -> None:
    """NaN in the 13th second: the caller decides about what it already has."""
    signal = voice(8000, 200_000)
    signal[100_000] = np.nan
    extraction = extract(
        io.BytesIO(encode(signal, 8000, "WAV", "FLOAT")), settings_of(windows="all"), name="x"
    )
    assert 0 == next(extraction).window

    with refused("non_finite", match=r"x: .* in sample 100000 \(at 12\.500 s\)"):
        next(extraction)


def test_only_the_channels_taken_are_judged(encode: Make, voice: Voice) -> None:
    """A dead right channel does not cost the left one."""
    stereo = voice(8000, 20_000, 2)
    stereo[500, 1] = np.inf
    content = encode(stereo, 8000, "WAV", "FLOAT")

    windows, _ = _run(content, channels="left")

    assert 1 == len(windows)
    for channels in ("mix", "right", "split"):
        with refused("non_finite"):
            _run(content, channels=channels)


def test_float_beyond_full_scale_is_used_and_flagged(encode: Make, voice: Voice) -> None:
    """Legal in a float file; librosa uses it as well."""
    signal = 10 * voice(16000, 20_000)
    content = encode(signal, 16000, "WAV", "FLOAT")

    (window,), summary = _run(content, normalise="none")

    assert ("over_full_scale",) == summary.flags
    assert pytest.approx(np.abs(signal).max()) == summary.peak
    expected = librosa.feature.mfcc(y=np.pad(signal, (0, 140_000)), sr=16000, n_mfcc=40)
    assert np.abs(expected - window.values).max() < 3e-4


def test_a_recording_that_ends_before_its_header_says_is_flagged(encode: Make) -> None:
    """An MP3 cut in half still counts its frames from the front."""
    signal = 0.3 * np.sin(np.arange(160_000) * 0.05)
    content = encode(signal, 16000, "MP3", "MPEG_LAYER_III")

    _, whole = _run(content)
    _, half = _run(content[: len(content) // 2])

    assert ("wrong_container",) == whole.flags
    assert ("truncated", "wrong_container") == half.flags
    assert half.frames_read < 100_000 < whole.frames_read == 160_000


def test_a_flac_from_a_pipe_does_not_say_how_long_it_is(encode: Make, voice: Voice) -> None:
    """Libsndfile then claims 2 to the 63rd frames: unknown, and not truncated."""
    content = bytearray(encode(voice(8000, 20_000), 8000, "FLAC", "PCM_16"))
    content[21] &= 0xF0
    content[22:26] = bytes(4)

    _, summary = _run(bytes(content))

    assert None is summary.recording.frames
    assert None is summary.recording.seconds
    assert ("wrong_container",) == summary.flags
    assert 20_000 == summary.frames_read

    with extract(io.BytesIO(content), settings_of(window_seconds=1.0), name="x.flac") as windows:
        list(windows)

    assert ("length_unknown",) == windows.summary.flags


def test_a_file_of_headers_only_is_empty_in_every_format(encode: Make) -> None:
    """Naive pipelines make features of silence from these."""
    for form, coding in (
        ("WAV", "PCM_16"),
        ("WAV", "PCM_24"),
        ("AIFF", "PCM_16"),
        ("AU", "PCM_16"),
        ("OGG", "VORBIS"),
    ):
        with refused("empty", match=r"a/b\.wav: expected samples"):
            _run(encode(np.zeros(0), 8000, form, coding))


def test_probing_reads_the_header_only(make_wave: Make) -> None:
    """For a listing, or a plan."""
    source = _Counting(make_wave(bytes(1_000_000), channels=2, rate=44100, data_size=2_000_000))

    recording = probe(source, name="a/b.mp3")

    assert source.total < 1000
    assert ("wav", "pcm_16", 44100, 2) == (
        recording.format,
        recording.codec,
        recording.sample_rate,
        recording.channels,
    )
    assert 250_000 == recording.frames
    assert ("truncated", "wrong_container") == recording.flags


def test_a_source_may_stand_anywhere(make_wave: Make, voice: Voice) -> None:
    """Extraction starts at the first byte, again and again."""
    source = io.BytesIO(make_wave(_pcm(voice(8000, 8000))))
    results = []
    for position in (0, 100, 10_000):
        source.seek(position)
        results.append([window.values.tobytes() for window in extract(source)])

    assert results[0] == results[1] == results[2]


@pytest.fixture(scope="module")
def specimens(encode: Make, voice: Voice) -> list[bytes]:
    """Small files of the codings that WAV headers lead to."""
    codings = ["PCM_16", "PCM_24", "FLOAT", "ULAW", "ALAW", "IMA_ADPCM", "MS_ADPCM", "GSM610"]
    return [encode(voice(8000, 2000), 8000, "WAV", coding) for coding in codings]


@given(data=st.data())
@settings(max_examples=300)
def test_no_bytes_make_it_fail_otherwise_than_by_refusal(
    data: st.DataObject, specimens: list[bytes]
) -> None:
    """Overwritten and cut at random, a file gives finite windows or a refusal."""
    content = bytearray(data.draw(st.sampled_from(specimens)))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, 90))
        content[place : place + 2] = data.draw(st.binary(min_size=2, max_size=2))
    content = content[: data.draw(st.integers(0, len(content)))]
    try:
        windows, _ = _run(bytes(content), **SMALL)
    except RefusedRecording:
        return
    assert windows
    assert all(np.isfinite(window.values).all() for window in windows)
