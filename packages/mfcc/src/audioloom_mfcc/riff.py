"""The header of a RIFF/WAVE file, walked without trusting any size in it.

libsndfile refuses a file for a malformed LIST chunk that nobody needs, and reads no samples, with
no error, where a recorder died before it wrote the data size. So the chunks are walked here; the
samples are then decoded here too (`pcm`), or by libsndfile behind a header made anew from this one
(`sndfile`).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from audioloom_mfcc.errors import BadChannels, BadHeader, BadRate, EmptyRecording
from audioloom_mfcc.source import read_fully

if TYPE_CHECKING:
    from audioloom_mfcc.source import Source

PCM: Final = 0x0001
FLOAT: Final = 0x0003
ALAW: Final = 0x0006
MULAW: Final = 0x0007
EXTENSIBLE: Final = 0xFFFE

# Behind the 16-bit tag in an EXTENSIBLE sub-format; another tail is not a WAVE format tag at all.
_GUID_TAIL: Final = bytes.fromhex("000000001000800000aa00389b71")
# What recorders that cannot seek write for "until the end": 0x7FFFF000 (sox, espeak-ng),
# 0x7FFFFFFF, 0x80000000 (arecord), 0xFFFFFFFF (ffmpeg), each perhaps less a header.
_PLACEHOLDER: Final = 0x7FFFF000
_MAX_CHUNKS: Final = 4096
_MAX_FMT: Final = 4096
_SKIP: Final = 1 << 16
_EXTENSIBLE_FMT: Final = 40
_PLAIN_FMT: Final = 16


@dataclass(frozen=True)
class WaveHeader:
    """Where the samples lie and how they are coded.

    Attributes:
        fmt: The ``fmt `` chunk's bytes, as they are.
        fact: The ``fact`` chunk's bytes, if there is one before the data.
        big_endian: RIFX.
        tag: Format tag; an EXTENSIBLE one is looked through where its sub-format is a tag.
        channels, sample_rate, block_align, bits: As the header says; the first two are not zero.
        offset: Where the data begin.
        present: Bytes of data there really are, more than none.
        declared: Bytes of data the header claims; None where it does not say.
        flags: ``truncated`` (more is claimed than there is), ``header_lies`` (a size of zero or a
            streaming placeholder: the rest of the file is taken), ``trailing_bytes`` (something
            follows the data that is not chunks; it is not read).
    """

    fmt: bytes
    fact: bytes | None
    big_endian: bool
    tag: int
    channels: int
    sample_rate: int
    block_align: int
    bits: int
    offset: int
    present: int
    declared: int | None
    flags: tuple[str, ...]


def read_header(source: Source, size: int, name: str) -> WaveHeader:
    """The header of *source*, which starts with RIFF or RIFX and WAVE and holds *size* bytes.

    Reads forward only, and leaves the position anywhere.

    Raises:
        BadHeader, BadRate, BadChannels, EmptyRecording: see `audioloom_mfcc.errors`.
    """
    source.seek(0)
    big_endian = read_fully(source, 12)[:4] == b"RIFX"
    order = ">" if big_endian else "<"
    position = 12
    fmt: bytes | None = None
    fact: bytes | None = None
    for _ in range(_MAX_CHUNKS):
        head = read_fully(source, 8)
        if len(head) < 8:  # noqa: PLR2004 - id and length
            found = "the end of the file" if fmt is None else "a format and no data chunk"
            raise BadHeader(name, expected="fmt and data chunks", found=found)
        chunk, length = head[:4], struct.unpack(order + "I", head[4:])[0]
        position += 8
        if not _is_chunk_id(chunk):
            raise BadHeader(
                name, expected=f"a chunk at byte {position - 8}", found=f"the bytes {chunk!r}"
            )
        if chunk == b"data":
            if fmt is None:
                raise BadHeader(name, expected="fmt before data", found="data first")
            present, declared, flags = _data_extent(source, order, position, length, size)
            if not present:
                raise EmptyRecording(name, expected="samples", found="a header and no samples")
            tag, channels, rate, align, bits = _format_fields(fmt, order, name)
            return WaveHeader(
                fmt, fact, big_endian, tag, channels, rate, align, bits,
                position, present, declared, flags,
            )  # fmt: skip
        if length > size - position:
            raise BadHeader(
                name,
                expected=f"chunks within the file's {size} bytes",
                found=f"a {chunk!r} chunk of {length} bytes at byte {position - 8}",
            )
        if chunk in {b"fmt ", b"fact"} and length <= _MAX_FMT:
            body = read_fully(source, length)
            if chunk == b"fmt ":
                fmt = body
            else:
                fact = body
            _skip(source, length & 1)
        else:
            _skip(source, length + (length & 1))
        position += length + (length & 1)
    raise BadHeader(name, expected="a data chunk", found=f"{_MAX_CHUNKS} chunks without one")


def _format_fields(fmt: bytes, order: str, name: str) -> tuple[int, int, int, int, int]:
    if len(fmt) < _PLAIN_FMT:
        raise BadHeader(
            name, expected=f"a fmt chunk of {_PLAIN_FMT} bytes", found=f"one of {len(fmt)}"
        )
    tag, channels, rate, _, align, bits = struct.unpack_from(order + "HHIIHH", fmt)
    if tag == EXTENSIBLE and len(fmt) >= _EXTENSIBLE_FMT and fmt[26:40] == _GUID_TAIL:
        tag = struct.unpack_from(order + "H", fmt, 24)[0]
    if not rate:
        raise BadRate(name, expected="a sampling rate", found="0 Hz")
    if not channels:
        raise BadChannels(name, expected="one channel or more", found="0 channels")
    return tag, channels, rate, align, bits


def _data_extent(
    source: Source, order: str, offset: int, declared: int, size: int
) -> tuple[int, int | None, tuple[str, ...]]:
    """Bytes of data present, bytes declared (None: not said), flags."""
    available = max(0, size - offset)
    if declared == 0:
        if _holds_chunks_only(source, order, offset, size):
            return 0, 0, ()
        return available, None, ("header_lies",)
    if declared > available:
        if declared >= _PLACEHOLDER:
            return available, None, ("header_lies",)
        return available, declared, ("truncated",)
    end = offset + declared + (declared & 1)
    trailing = not _holds_chunks_only(source, order, end, size)
    return declared, declared, ("trailing_bytes",) if trailing else ()


def _holds_chunks_only(source: Source, order: str, start: int, size: int) -> bool:
    """Whether *start* to the end of the file is well-formed chunks, or nothing."""
    position = start
    for _ in range(_MAX_CHUNKS):
        if position >= size:
            return True
        source.seek(position)
        head = read_fully(source, 8)
        if len(head) < 8 or not _is_chunk_id(head[:4]):  # noqa: PLR2004 - id and length
            return False
        length = struct.unpack(order + "I", head[4:])[0]
        position += 8 + length
        if position > size:
            return False
        position += length & 1
    return False


def _is_chunk_id(chunk: bytes) -> bool:
    return len(chunk) == 4 and all(0x20 <= byte <= 0x7E for byte in chunk)  # noqa: PLR2004


def _skip(source: Source, count: int) -> None:
    """Go forward by reading, so that a digest taken on the way misses nothing."""
    while count and (data := source.read(min(count, _SKIP))):
        count -= len(data)
