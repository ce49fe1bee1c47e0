"""Open a recording: read and check its header, then yield its samples in blocks."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from audioloom_audio.decoding import pcm, sndfile
from audioloom_audio.decoding.formats import (
    SNIFFED_BYTES,
    RawFormat,
    declared_size,
    forms_of,
    sniff,
)
from audioloom_audio.decoding.riff import ALAW, FLOAT, GSM, MULAW, PCM, WaveHeader, read_header
from audioloom_audio.decoding.source import Source, read_fully
from audioloom_audio.errors import RefusedRecording
from audioloom_audio.recording import Flag, Recording
from audioloom_audio.signals import Samples, Signals

MIN_RATE: Final = 1000
MAX_RATE: Final = 768000
_UNKNOWN_FRAMES: Final = 1 << 62  # a FLAC written to a pipe: libsndfile says 2**63 - 1


@dataclass(frozen=True)
class Decoder:
    """A recording and the functions that read its samples.

    Attributes:
        recording: The facts of the header.
        blocks: Takes channel numbers (`signal_numbers`) and `Samples`; returns an iterator
            over blocks. A block is one float32 array ``(frames,)`` per signal, at the recording's
            own rate. Call it once.
        close: Frees the decoder but does not close the source.
    """

    recording: Recording
    blocks: Callable[[tuple[int, ...], Samples], Iterator[Signals]]
    close: Callable[[], None]


def open_decoder(source: Source, name: str, raw: RawFormat | None = None) -> Decoder:
    """Read the header of *source* from its first byte.

    Raises:
        RefusedRecording, MissingDecoder: see `audioloom_audio.errors`.
    """
    size = source.seek(0, os.SEEK_END)  # an earlier listing may be stale
    source.seek(0)
    head = read_fully(source, SNIFFED_BYTES)
    promised = forms_of(name)
    form = sniff(head, name, perhaps_raw=raw is not None and not promised)
    flags = _misnamed(form, name)
    if form == "raw" and raw is not None:
        decoder = _headerless(source, size, raw, name)
    elif form not in {"wav", "rf64"}:
        if (declared_size(head, form) or 0) > size:
            flags = ("truncated", *flags)
        view = sndfile.View(source, b"", 0, size)
        decoder = _by_sndfile(view, form, None, flags, name)
    else:
        header = read_header(source, size, name)
        flags = header.flags + flags
        decoder = _by_pcm(source, form, header, flags, name) or _by_sndfile(
            sndfile.wave_view(source, header), form, header, flags, name
        )
    rate = decoder.recording.sample_rate
    if not MIN_RATE <= rate <= MAX_RATE:
        decoder.close()
        raise RefusedRecording("bad_rate", name, f"{MIN_RATE} to {MAX_RATE} Hz", f"{rate} Hz")
    return decoder


def _misnamed(form: str, name: str) -> tuple[Flag, ...]:
    promised = forms_of(name)
    return ("wrong_container",) if promised and form not in promised else ()


def _headerless(source: Source, size: int, raw: RawFormat, name: str) -> Decoder:
    tag = {"alaw": ALAW, "mulaw": MULAW, "gsm": GSM}[raw.coding]
    header = WaveHeader(tag, raw.channels, raw.sample_rate, bits=8, offset=0, present=size)
    view = sndfile.View(source, b"", 0, size)
    return _by_pcm(source, "raw", header, (), name) or _by_sndfile(view, "raw", None, (), name, raw)


def _by_pcm(
    source: Source, form: str, header: WaveHeader, flags: tuple[Flag, ...], name: str
) -> Decoder | None:
    """Make this package's own decoder, or None if it does not support the codec."""
    codec = pcm.codec_of(header)
    if codec is None:
        return None
    frame = pcm.frame_bytes(codec, header.channels)
    frames, partial = divmod(header.present, frame)
    if not frames:
        raise RefusedRecording("empty", name, "samples", f"{partial} bytes of data")
    recording = Recording(
        format=form,
        codec=codec,
        sample_rate=header.sample_rate,
        channels=header.channels,
        frames=frames,
        flags=tuple(sorted(("partial_frame", *flags) if partial else flags)),
    )
    return Decoder(
        recording, lambda numbers, by: pcm.blocks(source, header, codec, numbers, by), lambda: None
    )


def _by_sndfile(
    view: sndfile.View,
    form: str,
    header: WaveHeader | None,
    flags: tuple[Flag, ...],
    name: str,
    raw: RawFormat | None = None,
) -> Decoder:
    file: Any = sndfile.open_file(view, form, header, name, raw)
    if form == "mp3" and file.format != "MP3":  # libsndfile skips an ID3 tag, and looks behind it
        if file.format != "FLAC":
            file.close()
            expected, found = "MP3 or FLAC", f"{file.format} behind an ID3 tag"
            raise RefusedRecording("not_audio", name, expected, found)
        form = "flac"
        flags = _misnamed(form, name)
    if header is not None and header.tag in {PCM, FLOAT}:
        width = header.channels * ((header.bits + 7) // 8)
        if width and header.present % width:
            flags = ("partial_frame", *flags)
    recording = Recording(
        format=form,
        codec=file.subtype.lower(),
        sample_rate=file.samplerate,
        channels=file.channels,
        frames=file.frames if file.frames < _UNKNOWN_FRAMES else None,
        flags=tuple(sorted(flags)),
    )
    return Decoder(
        recording, lambda numbers, _: sndfile.blocks(file, view, numbers, name), file.close
    )
