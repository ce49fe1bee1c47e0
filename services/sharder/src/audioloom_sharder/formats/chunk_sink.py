"""A sink for a library that writes a file, from which the caller takes chunks as it grows."""

import io
from collections.abc import Iterator


class ChunkSink(io.BytesIO):
    """A sink that keeps the written bytes until they are taken."""

    _taken = 0

    def tell(self) -> int:
        """Return the number of bytes written so far."""
        return self._taken + super().tell()

    def close(self) -> None:
        """Stay open: Arrow closes its sink before the last piece is taken."""

    def take(self) -> Iterator[bytes]:
        """Return the bytes written since the last call."""
        if held := self.getvalue():
            self._taken += len(held)
            self.seek(0)
            self.truncate()
            yield held
