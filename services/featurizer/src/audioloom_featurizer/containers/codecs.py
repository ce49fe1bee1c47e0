"""Decompress the blocks and values of Avro and SequenceFiles, none beyond a bound.

The libraries of both formats allocate what a block claims, or unpack it whatever it becomes.
"""

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

import pyarrow as pa

from audioloom_featurizer.containers.member import PIECE_BYTES, BadContainer

Codec = Callable[[bytes, int], bytes]
"""(compressed bytes, most bytes to unpack) → the content; raises `BadContainer`."""

_RAW, _GZIP = -zlib.MAX_WBITS, 16 + zlib.MAX_WBITS
_INT_BYTES: Final = 4
_LONGEST_VARINT: Final = 5
_DAMAGE = (zlib.error, lzma.LZMAError, OSError, ValueError)  # those of Arrow are the last two


def _by_object(make: Callable[[], Any], data: bytes, most: int) -> bytes:
    """Decompress by a new object of zlib, bz2 or lzma."""
    with _damage():
        unpacker = make()
        found: bytes = unpacker.decompress(data, most)
    if not unpacker.eof:
        raise _beyond(most) if len(found) >= most else _cut()
    return found


def _zstandard(data: bytes, most: int) -> bytes:
    pieces, total = [], 0
    with _damage():
        stream = pa.CompressedInputStream(pa.BufferReader(data), "zstd")
        while piece := stream.read(PIECE_BYTES):
            pieces.append(piece)
            total += len(piece)
            if total > most:
                raise _beyond(most)
    return b"".join(pieces)


def _snappy(data: bytes, most: int) -> bytes:
    """Decompress one block of Snappy, which begins with the length of its content, a varint."""
    size = 0
    for place, byte in enumerate(data[:_LONGEST_VARINT]):
        size |= (byte & 0x7F) << 7 * place
        if byte < 0x80:  # noqa: PLR2004 - the last byte of a varint
            break
    else:
        raise _cut()
    if size > most:
        raise _beyond(most)
    with _damage():
        found: bytes = pa.decompress(data, decompressed_size=size, codec="snappy", asbytes=True)
    return found


def _avro_snappy(data: bytes, most: int) -> bytes:
    """Decompress a block as Avro has it: the CRC-32 of its content stands behind it."""
    found = _snappy(data[:-_INT_BYTES], most)
    if zlib.crc32(found) != int.from_bytes(data[-_INT_BYTES:]):
        raise BadContainer("a block whose checksum is wrong")
    return found


def _hadoop_snappy(data: bytes, most: int) -> bytes:
    """Decompress what Hadoop's `BlockCompressorStream` wrote: blocks of chunks, with lengths."""
    return b"".join(_hadoop_chunks(data, most))


def _hadoop_chunks(data: bytes, most: int) -> Iterator[bytes]:
    left, place = most, 0

    def taken(size: int) -> bytes:
        nonlocal place
        if len(data) - place < size:
            raise _cut()
        place += size
        return data[place - size : place]

    while place < len(data):
        block = int.from_bytes(taken(_INT_BYTES))
        if block > left:
            raise _beyond(most)
        left -= block
        while block:
            chunk = _snappy(taken(int.from_bytes(taken(_INT_BYTES))), block)
            if not chunk:
                raise BadContainer("damaged compression (an empty chunk)")
            block -= len(chunk)
            yield chunk


def _beyond(most: int) -> BadContainer:
    return BadContainer(f"compressed values of more than the {most >> 20} MiB that are read")


def _cut() -> BadContainer:
    return BadContainer("compression without its end")


@contextmanager
def _damage() -> Iterator[None]:
    """Translate the errors of the libraries."""
    try:
        yield
    except _DAMAGE as error:
        raise BadContainer(f"damaged compression ({error})") from error


AVRO: dict[str, Codec] = {
    "null": lambda data, _: data,
    "deflate": partial(_by_object, partial(zlib.decompressobj, _RAW)),
    "bzip2": partial(_by_object, bz2.BZ2Decompressor),
    "xz": partial(_by_object, lzma.LZMADecompressor),
    "snappy": _avro_snappy,
    "zstandard": _zstandard,
}
"""By the name in the header."""

_CODECS = "org.apache.hadoop.io.compress"
DEFAULT = f"{_CODECS}.DefaultCodec"
HADOOP: dict[str, Codec] = {
    DEFAULT: partial(_by_object, zlib.decompressobj),
    f"{_CODECS}.GzipCodec": partial(_by_object, partial(zlib.decompressobj, _GZIP)),
    f"{_CODECS}.BZip2Codec": partial(_by_object, bz2.BZ2Decompressor),
    f"{_CODECS}.SnappyCodec": _hadoop_snappy,
}
"""By the class in the header of a SequenceFile."""
