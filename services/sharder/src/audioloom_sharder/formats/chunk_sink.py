"""A file that a library writes, taken away in chunks while it grows."""

import io
from collections.abc import Iterator


class ChunkSink(io.RawIOBase):
    """A sink that keeps what was written until it is taken."""

    def __init__(self) -> None:
        self._held: list[bytes] = []
        self._size = 0

    def writable(self) -> bool:
        """Say that this file can be written."""
        return True

    def tell(self) -> int:
        """Bytes written so far."""
        return self._size

    def write(self, data: bytes) -> int:  # type: ignore[override]
        """Keep a copy of *data*."""
        self._held.append(bytes(data))
        self._size += len(self._held[-1])
        return len(self._held[-1])

    def close(self) -> None:
        """Stay open: Arrow closes what it writes to, and the last piece is taken after that."""

    def take(self) -> Iterator[bytes]:
        """What was written since the last time."""
        held, self._held = self._held, []
        yield from held
