"""Unpack a shard that is compressed as a whole, piece by piece, never to more than it should be.

What storage holds is data from outside: a few kilobytes of it can unpack to more than any disk has.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable

_WBITS = {"gzip": 31, "zlib": 15}  # zlib's words for the two
_PIECE = 1 << 20


class BadStream(ValueError):
    """Not one compressed stream, or one of more bytes than it should unpack to."""


class Unpacker:
    """Takes a compressed stream in blocks and gives on what it unpacks to.

    Args:
        compression: "gzip" or "zlib", as TensorFlow writes and reads them.
        limit: bytes that may come out.
        sink: gets them, a MiB at a time at most.
    """

    def __init__(self, compression: str, limit: int, sink: Callable[[bytes], object]) -> None:
        self._engine = zlib.decompressobj(_WBITS[compression])
        self._left = limit
        self._limit = limit
        self._sink = sink

    def add(self, block: bytes | memoryview) -> None:
        """Unpack the next block.

        Raises:
            BadStream: it is damaged, goes on after its end, or holds too much.
        """
        if self._engine.eof:
            raise BadStream("bytes after the end of the compressed stream")
        asked, piece = 0, b""
        while len(piece) == asked and not self._engine.eof:  # else the block is used up
            asked = min(_PIECE, self._left + 1)
            try:
                piece = self._engine.decompress(block, asked)
            except zlib.error as error:
                raise BadStream(f"a damaged compressed stream ({error})") from None
            if len(piece) > self._left:
                raise BadStream(f"more than the {self._limit} bytes that it should unpack to")
            self._left -= len(piece)
            self._sink(piece)
            block = self._engine.unconsumed_tail
        if self._engine.unused_data:
            raise BadStream("bytes after the end of the compressed stream")

    def end(self) -> None:
        """Hold the stream to its end; raises as `add`."""
        if not self._engine.eof or self._left:
            found = self._limit - self._left
            raise BadStream(f"a stream that ends after {found} of {self._limit} bytes")
