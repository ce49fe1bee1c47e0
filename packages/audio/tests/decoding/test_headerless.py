import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import soundfile
from audio_opening import probe, refused
from audio_settings import settings_of
from audioloom_audio import RawFormat, extract
from numpy.typing import NDArray

Make = Callable[..., bytes]
Voice = Callable[..., NDArray[np.float32]]


def _values(content: bytes, name: str, **options: Any) -> list[bytes]:
    windows = extract(io.BytesIO(content), settings_of(windows="all", **options), name=name)
    return [window.values.tobytes() for window in windows]


@pytest.mark.parametrize(("coding", "tag"), [("alaw", 6), ("mulaw", 7)])
@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("rate", [8000, 16000])
def test_samples_without_a_header_are_those_with_one(
    coding: Any, tag: int, channels: int, rate: int, make_wave: Make
) -> None:
    """What many switches write: nothing but G.711."""
    data = np.random.default_rng(0).integers(0, 256, 30_000, dtype=np.uint8).tobytes()
    raw = RawFormat(coding, rate, channels)

    wave = make_wave(data, tag=tag, bits=8, channels=channels, rate=rate)
    recording = probe(io.BytesIO(data), name="call.ul", raw=raw)

    assert _values(wave, "x.wav") == _values(data, "call.ul", raw=raw)
    assert ("raw", rate, channels, 30_000 // channels, ()) == (
        recording.format,
        recording.sample_rate,
        recording.channels,
        recording.frames,
        recording.flags,
    )


def test_gsm_without_a_header_is_decoded(voice: Voice) -> None:
    """33 bytes for 20 ms; in a WAV it is packed in another way."""
    samples = voice(8000, 16_000)
    file = io.BytesIO()
    soundfile.write(file, samples, 8000, format="RAW", subtype="GSM610")
    content = file.getvalue()
    decoded, _ = soundfile.read(
        io.BytesIO(content), format="RAW", subtype="GSM610", samplerate=8000, channels=1
    )

    extraction = extract(io.BytesIO(content), settings_of(raw=RawFormat("gsm")), name="a.gsm")

    assert 1 == len(list(extraction))
    assert len(decoded) == extraction.summary.frames_read
    assert ("raw", "gsm610") == (extraction.recording.format, extraction.recording.codec)


@pytest.mark.parametrize("start", [b"\xff\xfb\x90\x64", b"\xff\xf1\x50\x80", b"hello, world"])
def test_what_only_looks_like_a_frame_is_samples(start: bytes) -> None:
    """0xFF is silence in mu-law, and the first byte of an MPEG frame."""
    assert 1 == len(_values(start + bytes(5000), "call.ul", raw=RawFormat("mulaw")))


def test_a_file_with_a_header_is_what_its_header_says(make_wave: Make, encode: Make) -> None:
    """An archive may hold both."""
    wave = make_wave(bytes(range(256)) * 40)
    flac = encode(np.zeros(5000), 8000, "FLAC", "PCM_16")

    for content, form in ((wave, "wav"), (flac, "flac")):
        recording = probe(io.BytesIO(content), name="call.ul", raw=RawFormat("mulaw"))
        assert form == recording.format


@pytest.mark.parametrize("name", ["a.wav", "a.mp3", "a.FLAC"])
def test_a_name_that_promises_a_header_is_held_to_it(name: str) -> None:
    """A page of HTML called x.wav would be noise, and features."""
    with refused("not_audio"):
        probe(io.BytesIO(b"<html>" * 100), name=name, raw=RawFormat("alaw"))


def test_no_bytes_are_no_recording() -> None:
    """As with a header."""
    with refused("empty"):
        probe(io.BytesIO(b""), name="call.ul", raw=RawFormat("alaw"))
