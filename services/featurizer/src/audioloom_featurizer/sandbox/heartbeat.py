"""Heartbeats of a worker: a page of memory that the worker writes and its supervisor reads.

Nothing is sent, so a heartbeat costs nothing, and the last one outlives the process.
"""

from dataclasses import dataclass
from mmap import mmap
from typing import IO, Literal, get_args

Stage = Literal["open", "header", "samples"]

_STAGES: tuple[Stage, ...] = get_args(Stage)
# Recording and offset are stored one higher, so that the zeros of a fresh page mean None.
_BEATS, _RECORDING, _STAGE, _OFFSET, _WAITS, _FIELDS = range(6)
PAGE_BYTES = 8 * _FIELDS


@dataclass(frozen=True)
class HeartbeatState:
    """The content of a page at one moment.

    Attributes:
        beats: grows with every heartbeat.
        recording: number of the recording in its unit; None between recordings.
        stage: how far the recording has come.
        offset: bytes from the start of the file; None before the first read.
        waits: whether the worker waits for storage, and not for a decoder.
    """

    beats: int
    recording: int | None
    stage: Stage
    offset: int | None
    waits: bool


class Heartbeat:
    """A page of heartbeats, to write and to read.

    Args:
        page: `PAGE_BYTES` of memory, shared with the supervisor; private memory by default.
    """

    def __init__(self, page: mmap | bytearray | None = None) -> None:
        self._page = memoryview(bytearray(PAGE_BYTES) if page is None else page).cast("q")

    def start(self, recording: int) -> None:
        """Start a recording, by its number in the unit."""
        self._reset(recording + 1)

    def finish(self) -> None:
        """Finish the recording: a worker that dies now died at none."""
        self._reset(0)

    def _reset(self, recording: int) -> None:
        self._page[_STAGE] = self._page[_OFFSET] = self._page[_WAITS] = 0
        self._page[_RECORDING] = recording
        self.beat()

    def reached(self, stage: Stage) -> None:
        """The recording has reached a stage."""
        self._page[_STAGE] = _STAGES.index(stage)

    def beat(self) -> None:
        """Show progress."""
        self._page[_BEATS] += 1

    def waiting(self) -> None:
        """The worker has asked storage for something."""
        self._page[_WAITS] = 1
        self.beat()

    def answered(self, offset: int) -> None:
        """Storage has answered; reading has come to the byte *offset*."""
        self._page[_WAITS], self._page[_OFFSET] = 0, offset + 1
        self.beat()

    def read(self) -> HeartbeatState:
        """The last heartbeat."""
        beats, recording, stage, offset, waits = self._page.tolist()
        return HeartbeatState(
            beats,
            recording - 1 if recording else None,
            _STAGES[stage],
            offset - 1 if offset else None,
            bool(waits),
        )


class MonitoredFile:
    """A file whose every read is a heartbeat."""

    def __init__(self, file: IO[bytes], heartbeat: Heartbeat) -> None:
        self._file = file
        self._heartbeat = heartbeat

    def read(self, size: int = -1, /) -> bytes:
        """Up to *size* bytes."""
        self._heartbeat.waiting()
        data = self._file.read(size)
        self._heartbeat.answered(self._file.tell())
        return data

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Move; answer the new position."""
        self._heartbeat.waiting()
        position = self._file.seek(offset, whence)
        self._heartbeat.answered(position)
        return position

    def tell(self) -> int:
        """The position."""
        return self._file.tell()
