"""Decode all other formats by libsndfile, block by block and strictly forward.

Two properties of the `soundfile` package determine the design of this module:

* After every block it seeks to the current position. This restarts the decoders of Opus and MP3,
  and samples are wrong (by 0.2 of full scale, seen with blocks of 1000). A file that reports itself
  as not seekable is read without these seeks, bit-equal to reading it in one piece.
* The C callback prints and drops an exception of a file object's ``read``, so a storage failure
  would look like the end of the recording. This module keeps the exception and raises it.
"""

import os
import struct
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from audioloom_audio.decoding.formats import RawFormat
from audioloom_audio.decoding.riff import FLOAT, PCM, WaveHeader
from audioloom_audio.decoding.source import Source, read_fully
from audioloom_audio.errors import MissingDecoder, RefusedRecording
from audioloom_audio.signals import Signals, take_signals

_BLOCK_SAMPLES: Final = 1 << 14  # over all channels; a decoding error loses a whole block
# libsndfile's SF_ERR_UNSUPPORTED_ENCODING and, within a WAV, SFE_UNIMPLEMENTED.
_UNSUPPORTED: Final = {4, 18}
_RIFF_LIMIT: Final = 0xFFFF0000

# WAVE format tags that libsndfile decodes, and names of some tags that it does not decode.
_DECODED_TAGS: Final = {PCM, 2, FLOAT, 6, 7, 0x11, 0x31, 0x38, 0x40, 0x64}
_TAG_NAMES: Final = {
    0x0050: "MPEG",
    0x0055: "MP3",
    0x0083: "G.729",
    0x00FF: "AAC",
    0x0161: "WMA",
    0x0162: "WMA Pro",
    0x028F: "G.722",
    0x0300: "Xbox ADPCM",
    0x2000: "AC-3",
    0x704F: "Opus",
    0xA109: "Speex",
    0xF1AC: "FLAC",
}


class View:
    """A file for libsndfile's callbacks that joins *head* and a range of *source*."""

    def __init__(self, source: Source, head: bytes, offset: int, length: int) -> None:
        self._source = source
        self._head = head
        self._offset = offset
        self._size = len(head) + length
        self._position = 0
        self._error: BaseException | None = None

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move the position and return it; the source does not move."""
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        self._position = max(0, start + offset)
        return self._position

    def tell(self) -> int:
        """The position."""
        return self._position

    def readinto(self, buffer: Any) -> int:
        """Fill *buffer* as far as bytes remain; return their number; never raises (see `check`)."""
        try:
            data = b"" if self._error else self._read(len(buffer))
        except BaseException as error:  # noqa: BLE001 - raised by check(), outside the C callback
            self._error = error
            data = b""
        buffer[: len(data)] = data
        return len(data)

    def _read(self, count: int) -> bytes:
        count = max(0, min(count, self._size - self._position))
        data = self._head[self._position : self._position + count]
        if len(data) < count:
            self._source.seek(self._offset + self._position + len(data) - len(self._head))
            data += read_fully(self._source, count - len(data))
        self._position += len(data)
        return data

    def check(self) -> None:
        """Raise the error, if any, that the source raised while libsndfile was reading."""
        if self._error:
            raise self._error


def wave_view(source: Source, header: WaveHeader) -> View:
    """Make a file of the samples of *header* after a plain header with the true data size."""
    order = ">" if header.big_endian else "<"
    present = header.present
    chunks = _chunk(order, b"fmt ", header.fmt)
    if header.fact is not None:
        chunks += _chunk(order, b"fact", header.fact)
    if present <= _RIFF_LIMIT or header.big_endian:
        present = min(present, _RIFF_LIMIT)
        chunks += b"data" + struct.pack(order + "I", present)
        magic = b"RIFX" if header.big_endian else b"RIFF"
        length = struct.pack(order + "I", 4 + len(chunks) + present)
    else:
        sizes = struct.pack("<QQQI", 4 + 36 + len(chunks) + 8 + present, present, 0, 0)
        chunks = _chunk("<", b"ds64", sizes) + chunks + b"data\xff\xff\xff\xff"
        magic, length = b"RF64", b"\xff\xff\xff\xff"
    return View(source, magic + length + b"WAVE" + chunks, header.offset, present)


def _chunk(order: str, name: bytes, body: bytes) -> bytes:
    return name + struct.pack(order + "I", len(body)) + body + bytes(len(body) & 1)


def open_file(
    view: View, form: str, header: WaveHeader | None, name: str, raw: RawFormat | None = None
) -> Any:
    """Open *view* with libsndfile as a ``soundfile.SoundFile`` that never seeks by itself.

    *raw* is the format of a file without a header.

    Raises:
        MissingDecoder: soundfile or libsndfile is missing here, or was built without MP3.
        RefusedRecording: see `audioloom_audio.errors`.
    """
    reader, failure, formats = _library()
    if form in {"mp3", "flac", "ogg", "caf"} and form.upper() not in formats:
        raise MissingDecoder(
            f"{name or 'recording'}: expected a libsndfile that decodes {form}, found one that "
            "does not: upgrade the soundfile package (0.13 or newer brings its own)"
        )
    arguments: dict[str, Any] = {}
    if raw is not None:  # GSM, because this package decodes the other codings
        arguments = {"format": "RAW", "subtype": "GSM610"}
        arguments |= {"samplerate": raw.sample_rate, "channels": raw.channels}
    try:
        file = reader(view, **arguments)
    except failure as error:
        view.check()
        raise _refusal(error, form, header, name) from error
    view.check()
    return file


@lru_cache(maxsize=1)
def _library() -> tuple[type[Any], type[Exception], frozenset[str]]:
    try:
        import soundfile  # noqa: PLC0415 - archives of plain WAV never need it
    except (ImportError, OSError) as error:  # OSError: the package is installed without libsndfile
        raise MissingDecoder(
            "decoding anything but 16-bit PCM, mu-law and A-law WAV needs libsndfile, which "
            f"cannot be loaded here ({error}): pip install soundfile, or the system's libsndfile1"
        ) from error

    class ForwardReader(soundfile.SoundFile):  # type: ignore[misc] # soundfile is untyped
        def seekable(self) -> bool:
            return False

    return ForwardReader, soundfile.LibsndfileError, frozenset(soundfile.available_formats())


def _refusal(error: Any, form: str, header: WaveHeader | None, name: str) -> RefusedRecording:
    if header is not None and header.tag not in _DECODED_TAGS:
        coding = _TAG_NAMES.get(header.tag, "unknown coding")
        expected, found = "a WAVE format tag that libsndfile decodes", f"({coding})"
    elif header is not None and error.code in _UNSUPPORTED:
        expected = "a coding that libsndfile decodes"
        found = f"with {header.bits} bits a sample"
    elif form == "mp3":
        # The two bytes of an MPEG frame also start a text in UTF-16.
        return RefusedRecording("not_audio", name, "MPEG audio frames", "none that can be followed")
    else:
        expected = "a header that libsndfile can follow"
        return RefusedRecording("bad_header", name, expected, _reason(error))
    return RefusedRecording("unsupported_codec", name, expected, f"tag 0x{header.tag:04X} {found}")


def _reason(error: Any) -> str:
    return str(error.error_string).strip().removeprefix("Error : ").rstrip(".")


def blocks(file: Any, view: View, numbers: tuple[int, ...], name: str) -> Iterator[Signals]:
    """Yield the signals *numbers*, block by block, in float32 from the decoder, as in librosa."""
    _, failure, _ = _library()
    frames = max(1, _BLOCK_SAMPLES // file.channels)
    position = 0
    while True:
        try:
            block: NDArray[np.float32] = file.read(frames, dtype="float32", always_2d=True)
        except failure as error:
            view.check()
            at = position / file.samplerate
            raise RefusedRecording(
                "damaged", name, "samples to the end", f"{_reason(error)} behind {at:.1f} s"
            ) from error
        view.check()
        if not len(block):
            return
        position += len(block)
        yield take_signals(block, numbers)
