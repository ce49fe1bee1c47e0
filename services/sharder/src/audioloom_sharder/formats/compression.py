"""Streams compressed as a whole, as TensorFlow reads them: one gzip member, or one zlib stream.

The bytes are a function of the content: a fixed level, and in gzip's header neither time nor name.
(Another release of zlib, or another zlib, may compress otherwise; what comes out of it is equal.)
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, BinaryIO, cast

from audioloom_sharder.errors import DamagedRecord

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

LEVEL = 6

STREAMS = {"gzip": 31, "zlib": 15}
"""Compressions of a whole stream, and what zlib calls them (its ``wbits``)."""

_BLOCK = 1 << 16


def compressed(chunks: Iterable[bytes | memoryview], compression: str) -> Iterator[bytes]:
    """The chunks as one compressed stream, in pieces."""
    engine = zlib.compressobj(LEVEL, zlib.DEFLATED, STREAMS[compression])
    for chunk in chunks:
        if piece := engine.compress(chunk):
            yield piece
    yield engine.flush()


def decompressed(stream: BinaryIO, compression: str, limit: int) -> BinaryIO:
    """What *stream* holds, unpacked piece by piece as it is read.

    Args:
        stream: a compressed file, read from where it stands to its end.
        compression: "gzip" or "zlib".
        limit: bytes that it may unpack to; reading on from there is `DamagedRecord`.
    """
    reader = io.BufferedReader(_Decompressed(stream, compression, limit), _BLOCK)
    return cast("BinaryIO", reader)


class _Decompressed(io.RawIOBase):
    def __init__(self, stream: BinaryIO, compression: str, limit: int) -> None:
        self._stream = stream
        self._limit = limit
        self._engine = zlib.decompressobj(STREAMS[compression])
        self._waiting = b""
        self._done = 0

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._done

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        piece = self._take(len(view))
        while not piece and not self._engine.eof:
            self._waiting = self._stream.read(_BLOCK)
            if not self._waiting:
                raise DamagedRecord(f"the compressed stream is cut off after {self._done} bytes")
            piece = self._take(len(view))
        if not piece and (self._engine.unused_data or self._stream.read(1)):
            raise DamagedRecord("bytes after the end of the compressed stream")
        self._done += len(piece)
        if self._done > self._limit:
            raise DamagedRecord(f"more than the {self._limit} bytes that it should unpack to")
        view[: len(piece)] = piece
        return len(piece)

    def _take(self, size: int) -> bytes:
        try:
            piece = self._engine.decompress(self._waiting, size)
        except zlib.error as error:
            raise DamagedRecord(f"the compressed stream is damaged: {error}") from None
        self._waiting = self._engine.unconsumed_tail
        return piece
