"""Read the header of a RIFF/WAVE file (RIFX and RF64 too) without trusting any size in it.

libsndfile refuses a file for a malformed LIST chunk that nobody needs. If a recorder died before it
wrote the data size, libsndfile reads no samples and reports no error. So this module walks the
chunks; the samples are then decoded by `pcm`, or by libsndfile after a new header (`sndfile`).
"""

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from audioloom_audio.decoding.source import Source, read_fully
from audioloom_audio.errors import RefusedRecording
from audioloom_audio.recording import Flag

PCM: Final = 0x0001
FLOAT: Final = 0x0003
ALAW: Final = 0x0006
MULAW: Final = 0x0007
GSM: Final = 0x0031
EXTENSIBLE: Final = 0xFFFE

# Tail of an EXTENSIBLE sub-format; with another tail the first 16 bits are no WAVE format tag.
_GUID_TAIL: Final = bytes.fromhex("000000001000800000aa00389b71")
# Recorders that cannot seek write these for "until the end": 0x7FFFF000 (sox, espeak-ng),
# 0x7FFFFFFF, 0x80000000 (arecord), 0xFFFFFFFF (ffmpeg), each perhaps less a header.
_PLACEHOLDER: Final = 0x7FFFF000
_IN_DS64: Final = 0xFFFFFFFF  # RF64: the data size stands in the ds64 chunk
_CHUNK_NAME: Final = re.compile(rb"[ -~]{4}")
_MAX_CHUNKS: Final = 4096
_MAX_KEPT: Final = 4096
_FIRST_CHUNK: Final = 12
_SKIP: Final = 1 << 16
_EXTENSIBLE_FMT: Final = 40
_PLAIN_FMT: Final = 16


@dataclass(frozen=True)
class WaveHeader:
    """The position and the coding of the samples.

    Attributes:
        tag: Format tag; that of the sub-format if the header is EXTENSIBLE.
        channels, sample_rate, bits: By the header; the first two are not zero. The block alignment
            is ignored because it is wrong in some files that are otherwise fine.
        offset: The start of the data.
        present: Bytes of data in the file, at least one.
        flags: ``truncated`` (the header declares more data than the file has), ``header_lies`` (a
            size of zero or a streaming placeholder: the rest of the file is used),
            ``trailing_bytes`` (bytes after the data that are not chunks; they are not read).
        big_endian: RIFX.
        fmt: The raw bytes of the ``fmt `` chunk.
        fact: The ``fact`` chunk's bytes, if there is one before the data.
    """

    tag: int
    channels: int
    sample_rate: int
    bits: int
    offset: int
    present: int
    flags: tuple[Flag, ...] = ()
    big_endian: bool = False
    fmt: bytes = b""
    fact: bytes | None = None


def read_header(source: Source, size: int, name: str) -> WaveHeader:
    """Read the header of *source*, which starts as a RIFF, RIFX or RF64 file of *size* bytes.

    Reading goes forward only; the position afterwards is undefined.

    Raises:
        RefusedRecording: see `audioloom_audio.errors`.
    """
    source.seek(0)
    big_endian = read_fully(source, _FIRST_CHUNK)[:4] == b"RIFX"
    order = ">" if big_endian else "<"
    kept: dict[bytes, bytes] = {}
    for chunk, length, position in _chunks(source, order, _FIRST_CHUNK, size, name):
        if chunk == b"data":
            offset = position
            declared = _wide_length(kept.get(b"ds64", b"")) if length == _IN_DS64 else length
            break
        if chunk in {b"fmt ", b"fact", b"ds64"} and length <= _MAX_KEPT:
            kept[chunk] = read_fully(source, length)
            _skip(source, length & 1)
        else:
            _skip(source, length + (length & 1))
    else:
        raise RefusedRecording("bad_header", name, "a data chunk", "the end of the file")
    if b"fmt " not in kept:
        raise RefusedRecording("bad_header", name, "a fmt chunk before the data", "data first")
    present, flags = _data_extent(source, order, offset, declared, size)
    if not present:
        raise RefusedRecording("empty", name, "samples", "a header and no samples")
    fmt, fact = kept[b"fmt "], kept.get(b"fact")
    fields = _format_fields(fmt, order, name)
    return WaveHeader(*fields, offset, present, flags, big_endian=big_endian, fmt=fmt, fact=fact)


def _chunks(
    source: Source, order: str, position: int, size: int, name: str
) -> Iterator[tuple[bytes, int, int]]:
    """Yield name, body length and body position of each chunk up to the end of the file.

    The caller reads or skips the body and its padding before it requests the next chunk.
    """
    for _ in range(_MAX_CHUNKS):
        if position >= size:
            return
        head = read_fully(source, 8)
        if len(head) < 8:  # noqa: PLR2004 - name and length
            raise RefusedRecording("bad_header", name, "a data chunk", "the end of the file")
        chunk, length = head[:4], struct.unpack(order + "I", head[4:])[0]
        if not _CHUNK_NAME.fullmatch(chunk):
            raise RefusedRecording(
                "bad_header", name, f"a chunk at byte {position}", f"the bytes {chunk!r}"
            )
        if chunk != b"data" and length > size - position - 8:
            raise RefusedRecording(
                "bad_header",
                name,
                f"chunks within the file's {size} bytes",
                f"a {chunk!r} chunk of {length} bytes at byte {position}",
            )
        yield chunk, length, position + 8
        position += 8 + length + (length & 1)
    raise RefusedRecording("bad_header", name, "a data chunk", f"{_MAX_CHUNKS} chunks without one")


def _wide_length(ds64: bytes) -> int:
    """The data size in the ds64 chunk; the placeholder for a RIFF file, which has no ds64 chunk."""
    return struct.unpack_from("<Q", ds64, 8)[0] if len(ds64) >= 16 else _IN_DS64  # noqa: PLR2004


def _format_fields(fmt: bytes, order: str, name: str) -> tuple[int, int, int, int]:
    if len(fmt) < _PLAIN_FMT:
        raise RefusedRecording(
            "bad_header", name, f"a fmt chunk of {_PLAIN_FMT} bytes", f"one of {len(fmt)}"
        )
    tag, channels, rate, _, _, bits = struct.unpack_from(order + "HHIIHH", fmt)
    if tag == EXTENSIBLE and len(fmt) >= _EXTENSIBLE_FMT and fmt[26:40] == _GUID_TAIL:
        tag = struct.unpack_from(order + "H", fmt, 24)[0]
    if not rate:
        raise RefusedRecording("bad_rate", name, "a sampling rate", "0 Hz")
    if not channels:
        raise RefusedRecording("bad_channels", name, "one channel or more", "0 channels")
    return tag, channels, rate, bits


def _data_extent(
    source: Source, order: str, offset: int, declared: int, size: int
) -> tuple[int, tuple[Flag, ...]]:
    available = max(0, size - offset)
    if declared == 0:
        if _holds_chunks_only(source, order, offset, size):
            return 0, ()
        return available, ("header_lies",)
    if declared == _IN_DS64 or (_PLACEHOLDER <= declared < _IN_DS64 and declared > available):
        return available, ("header_lies",)
    if declared > available:
        return available, ("truncated",)
    end = offset + declared + (declared & 1)
    trailing = not _holds_chunks_only(source, order, end, size)
    return declared, ("trailing_bytes",) if trailing else ()


def _holds_chunks_only(source: Source, order: str, start: int, size: int) -> bool:
    """Whether the file from *start* is empty or consists of well-formed chunks."""
    if start < size:
        source.seek(start)
    try:
        for _, length, position in _chunks(source, order, start, size, name=""):
            if position + length > size:
                return False
            source.seek(position + length + (length & 1))
    except RefusedRecording:
        return False
    return True


def _skip(source: Source, count: int) -> None:
    while count and (data := source.read(min(count, _SKIP))):
        count -= len(data)
