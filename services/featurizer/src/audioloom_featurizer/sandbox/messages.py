"""What a worker and its supervisor tell each other: heartbeats, and where workers died.

The worker writes its heartbeats to a page of memory that the supervisor reads. A heartbeat is one
write to memory, so it is cheap, and the last heartbeat outlives the worker.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from mmap import mmap
from typing import IO, TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:  # the supervisor must not import NumPy or a decoder
    from audioloom_audio import Kind

Stage = Literal["open", "header", "samples"]

Cause = Literal[
    "missing",
    "no_permission",
    "not_a_file",
    "unsafe_path",
    "bad_name",
    "damaged_container",
    "unavailable",
    "storage",
    "changed",
    "decoder_died",
    "decoder_stalled",
    "decoder_memory",
    "unexpected",
]
"""Every class of refusal beside those of the recording itself."""

_STAGES: tuple[Stage, ...] = get_args(Stage)
# Recording and offset are stored plus one, so that the zeros of a new page mean None.
_BEATS, _RECORDING, _STAGE, _OFFSET, _WAITS, _FIELDS = range(6)
PAGE_BYTES = 8 * _FIELDS


@dataclass(frozen=True)
class HeartbeatState:
    """The content of a page at one moment.

    Attributes:
        beats: number of heartbeats so far.
        recording: number of the recording in its unit; None between recordings.
        stage: the stage that the recording has reached.
        offset: bytes from the start of the file; None before the first read.
        waits: whether the worker waits for storage instead of a decoder.
    """

    beats: int
    recording: int | None
    stage: Stage
    offset: int | None
    waits: bool


class Heartbeat:
    """Writes heartbeats to a page of memory and reads them.

    Args:
        page: `PAGE_BYTES` of memory, shared with the supervisor; private memory by default.
    """

    def __init__(self, page: mmap | bytearray | None = None) -> None:
        self._page = memoryview(bytearray(PAGE_BYTES) if page is None else page).cast("q")

    def start(self, recording: int) -> None:
        """Start a recording, by its number in the unit."""
        self._reset(recording + 1)

    def finish(self) -> None:
        """Finish the recording: it is not blamed if the worker dies from now on."""
        self._reset(0)

    def _reset(self, recording: int) -> None:
        self._page[_STAGE] = self._page[_OFFSET] = self._page[_WAITS] = 0
        self._page[_RECORDING] = recording
        self.beat()

    def reached(self, stage: Stage) -> None:
        """Record that the recording has reached a stage."""
        self._page[_STAGE] = _STAGES.index(stage)

    def beat(self) -> None:
        """Write a heartbeat."""
        self._page[_BEATS] += 1

    def waiting(self) -> None:
        """Record that the worker waits for storage."""
        self._page[_WAITS] = 1
        self.beat()

    def answered(self, offset: int) -> None:
        """Record that storage has answered and that the file is read up to the byte *offset*."""
        self._page[_WAITS], self._page[_OFFSET] = 0, offset + 1
        self.beat()

    def read(self) -> HeartbeatState:
        """Read the last heartbeat."""
        beats, recording, stage, offset, waits = self._page.tolist()
        return HeartbeatState(
            beats,
            recording - 1 if recording else None,
            _STAGES[stage],
            offset - 1 if offset else None,
            bool(waits),
        )


class MonitoredFile(io.RawIOBase):
    """A file that writes a heartbeat at each read; to close it leaves the other file open."""

    def __init__(self, file: IO[bytes], heartbeat: Heartbeat) -> None:
        self._file = file
        self._heartbeat = heartbeat

    def read(self, size: int = -1, /) -> bytes:
        """Read up to *size* bytes."""
        self._heartbeat.waiting()
        data = self._file.read(size)
        self._heartbeat.answered(self._file.tell())
        return data

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Move the position and return it."""
        self._heartbeat.waiting()
        position = self._file.seek(offset, whence)
        self._heartbeat.answered(position)
        return position

    def readable(self) -> bool:
        """Libraries ask for it."""
        return True

    def seekable(self) -> bool:
        """Libraries ask for it too."""
        return True


@dataclass(frozen=True)
class Refusal:
    """The reason why a recording is refused, as the ledger stores it.

    Attributes:
        kind: the class.
        stage: the stage that the recording had reached.
        offset: bytes read from the start of the file; None before the first read.
        message: what was expected and what was found.
        retryable: whether a later run or other limits may succeed.
    """

    kind: Kind | Cause
    stage: Stage
    offset: int | None
    message: str
    retryable: bool


@dataclass(frozen=True)
class CrashHistory:
    """Recordings of a unit at which a worker died, by their numbers in the unit.

    Attributes:
        blamed: recordings that are refused unread.
        suspect: a recording at which one worker died. It is tried first and alone, because an
            earlier recording may have corrupted the memory.
    """

    blamed: Mapping[int, Refusal] = field(default_factory=dict)
    suspect: int | None = None
