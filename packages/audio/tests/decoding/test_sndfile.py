import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import librosa
import numpy as np
import pytest
import soundfile
from audio_opening import refused
from audioloom_audio import MissingDecoder, signals
from audioloom_audio.decoding import sndfile
from audioloom_audio.decoding.decoder import open_decoder
from audioloom_audio.decoding.riff import read_header
from audioloom_audio.decoding.sndfile import View
from audioloom_audio.signals import MIX
from numpy.typing import NDArray

Encode = Callable[..., bytes]
Voice = Callable[..., NDArray[np.float32]]

FORMATS = [
    ("WAV", "PCM_U8", "8000"),
    ("WAV", "PCM_24", "44100"),
    ("WAV", "PCM_32", "44100"),
    ("WAV", "FLOAT", "16000"),
    ("WAV", "DOUBLE", "16000"),
    ("WAV", "IMA_ADPCM", "8000"),
    ("WAV", "MS_ADPCM", "8000"),
    ("WAVEX", "PCM_24", "16000"),
    ("RF64", "PCM_24", "16000"),
    ("W64", "PCM_16", "16000"),
    ("AIFF", "PCM_16", "16000"),
    ("AU", "ULAW", "8000"),
    ("CAF", "PCM_16", "16000"),
    ("NIST", "PCM_16", "16000"),
    ("FLAC", "PCM_16", "44100"),
    ("OGG", "VORBIS", "44100"),
    ("OGG", "OPUS", "48000"),
    ("MP3", "MPEG_LAYER_III", "44100"),
]


def _decode(content: bytes) -> NDArray[np.float32]:
    blocks = list(open_decoder(io.BytesIO(content), "x").blocks((MIX,), signals))
    return np.concatenate([signal for (signal,) in blocks])


@pytest.mark.parametrize("case", FORMATS, ids="-".join)
@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("block", [1000, 16384, 1 << 20])
def test_blocks_are_what_librosa_reads_in_one_piece(
    case: tuple[str, str, str],
    *,
    channels: int,
    block: int,
    encode: Encode,
    voice: Voice,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Bit for bit, for any block: soundfile's own block reading spoils Opus by 0.2."""
    form, coding, rate = case
    content = encode(voice(int(rate), 60_000, channels), int(rate), form, coding)
    expected, _ = librosa.load(io.BytesIO(content), sr=None, mono=True)
    monkeypatch.setattr(sndfile, "_BLOCK_SAMPLES", block)

    assert expected.tobytes() == _decode(content).tobytes()


TAG = b"ID3\x04\x00\x00\x00\x00\x00\x0a" + bytes(10)


@pytest.mark.parametrize(
    ("coding", "form", "codec", "flags"),
    [
        ("MPEG_LAYER_III", "mp3", "mpeg_layer_iii", {"x.mp3": (), "x.flac": ("wrong_container",)}),
        ("PCM_16", "flac", "pcm_16", {"x.flac": (), "x.mp3": ("wrong_container",)}),
    ],
)
def test_what_follows_an_id3_tag_tells_the_format(
    coding: str,
    form: str,
    codec: str,
    flags: dict[str, tuple[str, ...]],
    encode: Encode,
    voice: Voice,
) -> None:
    """Programs that tag MP3 files tag FLAC files too."""
    content = TAG + encode(voice(16000, 16000), 16000, form.upper(), coding)
    for name, expected in flags.items():
        recording = open_decoder(io.BytesIO(content), name).recording
        assert (form, codec, expected) == (recording.format, recording.codec, recording.flags)


def test_other_formats_behind_an_id3_tag_are_refused(encode: Encode, voice: Voice) -> None:
    """libsndfile would take any of its formats there."""
    content = TAG + encode(voice(16000, 16000), 16000, "WAV", "PCM_16")
    with refused("not_audio", match="found WAV behind an ID3 tag"):
        open_decoder(io.BytesIO(content), "x")


@pytest.mark.parametrize("coding", ["GSM610", "G721_32"])
def test_what_librosa_cannot_read_is_read_in_blocks(
    coding: str, encode: Encode, voice: Voice
) -> None:
    """GSM in WAV, the telephone exchange's favourite, is not seekable, and librosa gives up."""
    signal = voice(8000, 40_000)
    content = encode(signal, 8000, "WAV", coding)
    with pytest.raises(ValueError, match="non-seekable"):
        librosa.load(io.BytesIO(content), sr=None)

    decoded = _decode(content)

    # A lossy codec of 1987: the same sound, not the same samples.
    assert 0.8 < np.corrcoef(signal, decoded[: len(signal)])[0, 1]


def test_a_big_endian_file_is_read(encode: Encode, voice: Voice) -> None:
    """RIFX, by way of libsndfile."""
    signal = voice(16000, 5000)
    content = encode(signal, 16000, "WAV", "PCM_16", endian="BIG")

    assert b"RIFX" == content[:4]
    assert _decode(encode(signal, 16000, "WAV", "PCM_16")).tobytes() == _decode(content).tobytes()


@pytest.mark.parametrize(("coding", "tag", "bits"), [("FLOAT", 3, 32), ("PCM_24", 1, 24)])
def test_a_header_of_lies_is_made_anew_for_libsndfile(
    *, coding: str, tag: int, bits: int, make_wave: Encode, encode: Encode, voice: Voice
) -> None:
    """The recorder died before it wrote the size, and a LIST chunk is malformed as well."""
    honest = encode(voice(16000, 5000), 16000, "WAV", coding)
    header = read_header(io.BytesIO(honest), len(honest), "x")
    data = honest[header.offset : header.offset + header.present]
    broken = b"LIST\x0a\x00\x00\x00INFOabcdef"
    content = make_wave(data, tag=tag, bits=bits, rate=16000, data_size=0, before=broken)
    with pytest.raises(soundfile.LibsndfileError):
        soundfile.read(io.BytesIO(content))

    assert _decode(honest).tobytes() == _decode(content).tobytes()


def test_more_than_four_gigabytes_are_seen(tmp_path: Path, make_wave: Encode) -> None:
    """24-bit samples streamed for hours behind a header that could not be patched."""
    path = tmp_path / "long.wav"
    with path.open("wb") as file:
        file.write(make_wave(b"", bits=24, channels=2, rate=48000, data_size=0xFFFFFFFF))
        file.truncate(44 + 6 * 1_000_000_000)
    assert path.stat().st_blocks * 512 < 1 << 20

    with path.open("rb") as source:
        decoder = open_decoder(source, "long.wav")
        decoder.close()

    assert 1_000_000_000 == decoder.recording.frames
    assert ("header_lies",) == decoder.recording.flags


class _Lost(io.BytesIO):
    """A source whose connection is lost behind some bytes."""

    def __init__(self, content: bytes, reads: int) -> None:
        super().__init__(content)
        self.left = reads

    def read(self, size: int | None = -1, /) -> bytes:
        if self.left == 0:
            raise ConnectionResetError("lost")
        self.left -= 1
        return super().read(size)


@pytest.mark.parametrize("form", [("FLAC", "PCM_16"), ("WAV", "PCM_24"), ("OGG", "VORBIS")])
def test_a_failing_source_is_not_taken_for_a_short_recording(
    form: tuple[str, str], encode: Encode, voice: Voice
) -> None:
    """Whichever read fails: libsndfile's callback would have swallowed it."""
    content = encode(voice(44100, 100_000), 44100, *form)
    needed = 0
    while True:
        try:
            for _ in open_decoder(_Lost(content, needed), "x").blocks((MIX,), signals):
                pass
        except ConnectionResetError:
            needed += 1
        else:
            break
    assert needed > 10


def test_a_stop_from_the_keyboard_is_not_swallowed_either(encode: Encode, voice: Voice) -> None:
    """It may arrive within the callback."""

    class Interrupted(io.BytesIO):
        reads = 0

        def read(self, size: int | None = -1, /) -> bytes:
            self.reads += 1
            if self.reads > 12:
                raise KeyboardInterrupt
            return super().read(size)

    source = Interrupted(encode(voice(44100, 100_000), 44100, "FLAC", "PCM_16"))
    with pytest.raises(KeyboardInterrupt):
        for _ in open_decoder(source, "x").blocks((MIX,), signals):
            pass


def test_a_decoder_that_gives_up_is_a_damaged_recording(encode: Encode, voice: Voice) -> None:
    """A FLAC file cut in half: the message says up to where it was good."""
    content = encode(voice(8000, 200_000), 8000, "FLAC", "PCM_16")
    seconds = 0.0

    blocks = open_decoder(io.BytesIO(content[: len(content) // 2]), "x").blocks((MIX,), signals)

    with refused("damaged", match=r"x: expected .* lost sync behind \d+\.\d s"):
        for (signal,) in blocks:
            seconds += len(signal) / 8000
    assert 5 < seconds < 20


def _without(modules: str, content: bytes) -> str:
    script = (
        "import io, sys\n"
        f"{modules}\n"
        "from audioloom_audio import MissingDecoder, extract\n"
        "try:\n"
        "    list(extract(io.BytesIO(sys.stdin.buffer.read()), name='a/b'))\n"
        "except MissingDecoder as error:\n"
        "    print(error)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], input=content, check=True, capture_output=True
    )
    return result.stdout.decode()


def test_a_missing_library_is_not_blamed_on_the_recording(encode: Encode, voice: Voice) -> None:
    """An error of the environment, with what to install."""
    content = encode(voice(8000, 1000), 8000, "FLAC", "PCM_16")

    message = _without("sys.modules['soundfile'] = None", content)

    assert "needs libsndfile" in message
    assert "pip install soundfile" in message


def test_a_libsndfile_without_mp3_is_not_blamed_on_the_recording(
    encode: Encode, voice: Voice
) -> None:
    """Debian 11 ships such a one."""
    content = encode(voice(16000, 16000), 16000, "MP3", "MPEG_LAYER_III")
    old = (
        "import soundfile\n"
        "soundfile.available_formats = lambda: {'WAV': 'WAV', 'FLAC': 'FLAC', 'OGG': 'OGG'}"
    )

    message = _without(old, content)

    assert "a/b: expected a libsndfile that decodes mp3" in message


def test_missing_decoder_is_an_import_error() -> None:
    """So that callers who know nothing of this package still see what it is."""
    assert issubclass(MissingDecoder, ImportError)


@pytest.mark.parametrize(
    ("offset", "whence", "count"),
    [(0, os.SEEK_SET, 3), (3, os.SEEK_SET, 4), (6, os.SEEK_SET, 100), (-2, os.SEEK_END, 5)],
)
def test_a_view_is_its_head_and_a_stretch_of_the_source(
    offset: int, whence: int, count: int
) -> None:
    """Reads cross the seam, and end at the end of the stretch."""
    plain = io.BytesIO(b"HEAD" + b"23456")
    view = View(io.BytesIO(b"0123456789"), b"HEAD", 2, 5)
    buffer: Any = bytearray(count)

    assert plain.seek(offset, whence) == view.seek(offset, whence)
    expected = plain.read(count)

    assert len(expected) == view.readinto(buffer)
    assert expected == bytes(buffer[: len(expected)])
    assert plain.tell() == view.tell()
