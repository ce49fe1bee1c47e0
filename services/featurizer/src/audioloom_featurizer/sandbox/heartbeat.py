"""Where extraction is, and that it is alive: a page of memory that its supervisor sees too.

Nothing is sent, so telling costs nothing; and what was told last outlives the process.
"""

from __future__ import annotations

from dataclasses import dataclass
from mmap import mmap
from typing import IO, Literal, get_args

Stage = Literal["open", "header", "samples"]

_STAGES: tuple[Stage, ...] = get_args(Stage)
# Numbers are kept one higher, so that a fresh page says: none.
_BEATS, _RECORDING, _STAGE, _OFFSET, _WAITS, _FIELDS = range(6)
PAGE_BYTES = 8 * _FIELDS


@dataclass(frozen=True)
class Beat:
    """What a page said at one moment.

    Attributes:
        beats: grows with every sign of life.
        recording: number of the recording in its unit; None between recordings.
        stage: how far it has come.
        offset: bytes from the start of the file; None before the first was read.
        waits: for storage, not for a decoder.
    """

    beats: int
    recording: int | None
    stage: Stage
    offset: int | None
    waits: bool


class Pulse:
    """The page, to tell and to read.

    Args:
        page: `PAGE_BYTES` of memory, shared with whoever watches; without it nobody does.
    """

    def __init__(self, page: mmap | bytearray | None = None) -> None:
        self._page = memoryview(bytearray(PAGE_BYTES) if page is None else page).cast("q")

    def at(self, recording: int | None) -> None:
        """Begin with a recording, by its number in the unit; None: done with it."""
        self._page[_STAGE] = self._page[_OFFSET] = self._page[_WAITS] = 0
        self._page[_RECORDING] = 0 if recording is None else recording + 1
        self.beat()

    def reached(self, stage: Stage) -> None:
        """The recording has come to this stage."""
        self._page[_STAGE] = _STAGES.index(stage)

    def beat(self) -> None:
        """Give a sign of life."""
        self._page[_BEATS] += 1

    def waiting(self) -> None:
        """Storage was asked for something."""
        self._page[_WAITS] = 1
        self._page[_BEATS] += 1

    def answered(self, offset: int) -> None:
        """It has answered: reading has come to this byte."""
        self._page[_WAITS], self._page[_OFFSET] = 0, offset + 1
        self._page[_BEATS] += 1

    def read(self) -> Beat:
        """What was told last."""
        beats, recording, stage, offset, waits = self._page.tolist()
        return Beat(
            beats,
            recording - 1 if recording else None,
            _STAGES[stage],
            offset - 1 if offset else None,
            bool(waits),
        )


class Watched:
    """A file whose every read is a sign of life."""

    def __init__(self, file: IO[bytes], pulse: Pulse) -> None:
        self._file = file
        self._pulse = pulse

    def read(self, size: int = -1, /) -> bytes:
        """Up to *size* bytes."""
        self._pulse.waiting()
        data = self._file.read(size)
        self._pulse.answered(self._file.tell())
        return data

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Move; answer the new position."""
        self._pulse.waiting()
        position = self._file.seek(offset, whence)
        self._pulse.answered(position)
        return position

    def tell(self) -> int:
        """The position."""
        return self._file.tell()
