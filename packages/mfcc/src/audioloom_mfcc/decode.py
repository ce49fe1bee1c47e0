"""A recording opened: its header read and judged, its samples ready to be pulled in blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from audioloom_mfcc import pcm, sndfile
from audioloom_mfcc.errors import BadRate, EmptyRecording
from audioloom_mfcc.formats import SNIFFED_BYTES, is_misnamed, sniff
from audioloom_mfcc.recording import Recording
from audioloom_mfcc.riff import FLOAT, PCM, WaveHeader, read_header
from audioloom_mfcc.source import read_fully, size_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from audioloom_mfcc.source import Source

MIN_RATE: Final = 1000
MAX_RATE: Final = 768000

Signals = tuple["NDArray[np.float32]", ...]


@dataclass(frozen=True)
class Decoder:
    """A recording and the way to its samples.

    Attributes:
        recording: What the header said.
        blocks: From channel numbers (`channels.signal_numbers`) to an iterator over blocks; a
            block is one float32 array ``(frames,)`` a signal, at the recording's own rate. To be
            called once.
        close: Frees the decoder; not the source.
    """

    recording: Recording
    blocks: Callable[[tuple[int, ...]], Iterator[Signals]]
    close: Callable[[], None]


def open_decoder(source: Source, name: str) -> Decoder:
    """Read the header of *source* from its first byte.

    Raises:
        RefusedRecording, MissingDecoder: see `audioloom_mfcc.errors`.
    """
    size = size_of(source)
    source.seek(0)
    form = sniff(read_fully(source, SNIFFED_BYTES), name)
    flags = ("wrong_container",) if is_misnamed(name, form) else ()
    if form != "wav":
        view = sndfile.View(source, b"", 0, size)
        decoder = _by_sndfile(view, form, None, flags, name)
    else:
        header = read_header(source, size, name)
        codec = pcm.codec_of(header)
        if codec:
            decoder = _by_pcm(source, header, codec, flags, name)
        else:
            view = sndfile.wave_view(source, header)
            decoder = _by_sndfile(view, form, header, flags, name)
    rate = decoder.recording.sample_rate
    if not MIN_RATE <= rate <= MAX_RATE:
        decoder.close()
        raise BadRate(name, expected=f"{MIN_RATE} to {MAX_RATE} Hz", found=f"{rate} Hz")
    return decoder


def _by_pcm(
    source: Source, header: WaveHeader, codec: str, flags: tuple[str, ...], name: str
) -> Decoder:
    frame = pcm.frame_bytes(codec, header.channels)
    frames, partial = divmod(header.present, frame)
    if not frames:
        raise EmptyRecording(name, expected="samples", found=f"{partial} bytes of data")
    recording = Recording(
        format="wav",
        codec=codec,
        sample_rate=header.sample_rate,
        channels=header.channels,
        frames=frames,
        frames_declared=None if header.declared is None else header.declared // frame,
        flags=header.flags + (("partial_frame",) if partial else ()) + flags,
    )
    return Decoder(
        recording, lambda numbers: pcm.blocks(source, header, codec, numbers), lambda: None
    )


def _by_sndfile(
    view: sndfile.View, form: str, header: WaveHeader | None, flags: tuple[str, ...], name: str
) -> Decoder:
    file: Any = sndfile.open_file(view, form, header, name)
    frames: int = file.frames
    declared: int | None = frames
    if header is not None:
        flags = header.flags + flags
        if header.declared is None:
            declared = None
        elif header.tag in {PCM, FLOAT} and header.block_align:
            declared = header.declared // header.block_align
            if header.present % header.block_align:
                flags = ("partial_frame", *flags)
    recording = Recording(
        format=form,
        codec=file.subtype.lower(),
        sample_rate=file.samplerate,
        channels=file.channels,
        frames=frames,
        frames_declared=declared,
        flags=flags,
    )
    return Decoder(recording, lambda numbers: sndfile.blocks(file, view, numbers, name), file.close)
