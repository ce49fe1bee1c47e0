"""A sink for a library that writes a file, from which the caller takes chunks as it grows."""

import io
from collections.abc import Iterator


class ChunkSink(io.RawIOBase):
    """A sink that keeps the written bytes until they are taken."""

    def __init__(self) -> None:
        self._held: list[bytes] = []
        self._size = 0

    def writable(self) -> bool:
        """Return True: Arrow asks before it writes."""
        return True

    def tell(self) -> int:
        """Return the number of bytes written so far."""
        return self._size

    def write(self, data: bytes) -> int:  # type: ignore[override]
        """Keep a copy of *data*."""
        self._held.append(bytes(data))
        self._size += len(self._held[-1])
        return len(self._held[-1])

    def close(self) -> None:
        """Stay open: Arrow closes its sink before the last piece is taken."""

    def take(self) -> Iterator[bytes]:
        """Return the bytes written since the last call."""
        held, self._held = self._held, []
        yield from held
