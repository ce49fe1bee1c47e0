"""Streams compressed as a whole, as TensorFlow reads them: one gzip member, or one zlib stream.

The bytes are a function of the content: a fixed level, and in gzip's header neither time nor name.
(Another release of zlib, or another zlib, may compress otherwise; what comes out of it is equal.)
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, BinaryIO, cast

from audioloom_manifest.errors import RecordError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

LEVEL = 6

STREAMS = {"gzip": 31, "zlib": 15}
"""Compressions of a whole stream, and what zlib calls them (its ``wbits``)."""

_PIECE = 1 << 16


def compressed(chunks: Iterable[bytes | memoryview], compression: str) -> Iterator[bytes]:
    """The chunks as one compressed stream, in pieces."""
    engine = zlib.compressobj(LEVEL, zlib.DEFLATED, STREAMS[compression])
    for chunk in chunks:
        if piece := engine.compress(chunk):
            yield piece
    yield engine.flush()


def decompressed(
    blocks: Iterable[bytes | memoryview], compression: str, limit: int
) -> Iterator[bytes]:
    """What a compressed stream holds, exactly *limit* bytes, in pieces of at most 64 KiB.

    What storage holds is data from outside: a few kilobytes of it can decompress to more than any
    disk has.

    Raises:
        RecordError: it is damaged, cut off, goes on after its end, or holds more or fewer bytes.
    """
    engine, done = zlib.decompressobj(STREAMS[compression]), 0
    for block in blocks:
        if engine.eof:
            raise RecordError("bytes after the end of the compressed stream")
        asked, piece = 0, b""
        while len(piece) == asked and not engine.eof:  # else the block is used up
            asked = min(_PIECE, limit - done + 1)
            try:
                piece = engine.decompress(block, asked)
            except zlib.error as error:
                raise RecordError(f"the compressed stream is damaged: {error}") from None
            done += len(piece)
            if done > limit:
                raise RecordError(f"more than the {limit} bytes that it should decompress to")
            if piece:
                yield piece
            block = engine.unconsumed_tail  # noqa: PLW2901 (a piece of it at a time)
        if engine.unused_data:
            raise RecordError("bytes after the end of the compressed stream")
    if not engine.eof:
        raise RecordError(f"the compressed stream is cut off after {done} bytes")
    if done != limit:
        raise RecordError(f"the compressed stream ends after {done} of {limit} bytes")


def open_decompressed(stream: BinaryIO, compression: str, limit: int) -> BinaryIO:
    """A compressed file, from where it stands to its end, as the file of *limit* bytes it holds.

    Reading it to the end raises as `decompressed`.
    """
    blocks = iter(lambda: stream.read(_PIECE), b"")
    pieces = _Pieces(decompressed(blocks, compression, limit))
    return cast("BinaryIO", io.BufferedReader(pieces, _PIECE))


class _Pieces(io.RawIOBase):
    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = memoryview(b"")
        self._done = 0

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._done

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        if not self._rest:
            self._rest = memoryview(next(self._pieces, b""))
        count = min(len(view), len(self._rest))
        view[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        self._done += count
        return count
