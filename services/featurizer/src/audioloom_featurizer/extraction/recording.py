"""Extract one recording to its windows, or to a row of the ledger if it is refused.

Windows wait on scratch disk until the last sample of the recording was read. So all windows of a
recording are in the features or none is, and memory does not grow with the recording's length.
"""

import hashlib
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

import numpy as np
from audioloom_audio import (
    AudioError,
    BadSettings,
    DigestingReader,
    Extraction,
    ExtractionSettings,
    Kind,
    MissingDecoder,
    RefusedRecording,
    extract,
)
from audioloom_storage import (
    NotAFile,
    NotFound,
    PermissionDenied,
    StorageError,
    Unavailable,
    UnsafePath,
    stat,
)

from audioloom_featurizer.containers.member import BadContainer
from audioloom_featurizer.errors import InvalidOption, MissingLibrary
from audioloom_featurizer.extraction.members import Members
from audioloom_featurizer.inventory.parquet import Row
from audioloom_featurizer.inventory.paths import may_be_escaped
from audioloom_featurizer.sandbox.messages import Cause, Heartbeat, MonitoredFile, Refusal, Stage

TRIES = 3
WAIT_SECONDS = 0.5
IN_MEMORY_BYTES = 8 << 20
MOST_MESSAGE = 500
HEAD_BYTES = 1 << 20
"""Bytes that a digest of a recording's head covers."""

_SECOND = 1_000_000_000
_RESOLUTIONS = (60 * _SECOND, _SECOND, 1_000_000, 1000)
"""An fsimage's dump holds minutes, some tables seconds, HDFS milliseconds; others nanoseconds."""

_OF_WINDOWS = ("channel", "window", "start_seconds", "valid_samples", "valid_frames", "flags")
_STORAGE_CLASSES: tuple[tuple[type[StorageError], Cause], ...] = (
    (NotFound, "missing"),
    (PermissionDenied, "no_permission"),
    (NotAFile, "not_a_file"),
    (UnsafePath, "unsafe_path"),
    (Unavailable, "unavailable"),
)


@dataclass(frozen=True)
class Refused:
    """A refused recording, as a row of the ledger."""

    row: Row

    @property
    def kind(self) -> str:
        """The class of the refusal."""
        return str(self.row["class"])


@dataclass(frozen=True)
class Extracted:
    """The windows of a recording.

    Attributes:
        rows: the columns of each window without the feature, in the order (window, channel).
        seconds: length of the recording.
        flagged: whether the recording or one of its windows has a flag.
    """

    rows: tuple[Row, ...]
    seconds: float
    flagged: bool
    _values: IO[bytes]
    _width: int

    def values(self) -> Iterator[bytes]:
        """Read the feature of each window, as the contract stores it."""
        self._values.seek(0)
        for _ in self.rows:
            yield self._values.read(self._width)


@contextmanager
def extract_recording(
    members: Members, row: Row, settings: ExtractionSettings, *, whole: bool = True
) -> Iterator[Extracted | Refused]:
    """Extract one recording of a unit; retry a failure of storage a few times.

    The digest covers the *whole* recording, or its first MiB and its size. The outcome is valid in
    the block.

    Raises:
        AudioError: this machine lacks a library; the recording may be fine.
        OSError: this machine has no scratch space.
    """
    for number in range(1, TRIES + 1):
        with tempfile.SpooledTemporaryFile(IN_MEMORY_BYTES) as scratch:
            outcome = _try(_Reading(members, row, settings, scratch, whole=whole))
            if isinstance(outcome, Extracted) or not outcome.row["retryable"] or number == TRIES:
                yield outcome
                return
        time.sleep(WAIT_SECONDS * number)


def refused(row: Row, refusal: Refusal) -> Refused:
    """Make the ledger's row of a refused recording."""
    listed = {name: row[name] for name in ("path", "member", "size", "modified_ns")}
    message = " ".join(refusal.message.split())[:MOST_MESSAGE]
    return Refused(
        {
            **listed,
            "class": refusal.kind,
            "stage": refusal.stage,
            "offset": refusal.offset,
            "message": message.encode(errors="replace").decode(),
            "retryable": refusal.retryable,
        }
    )


def _try(reading: "_Reading") -> Extracted | Refused:
    try:
        return reading.run()
    except (_Changed, BadContainer) as error:
        changed = isinstance(error, _Changed)
        message = (
            f"{error}: scan again" if changed else f"expected a whole container, found {error}"
        )
        return reading.refuse("changed" if changed else "damaged_container", message)
    except RefusedRecording as error:
        return reading.refuse(error.kind, f"expected {error.expected}, found {error.found}")
    except StorageError as error:
        kinds = (name for base, name in _STORAGE_CLASSES if isinstance(error, base))
        kind: Cause = next(kinds, "storage")
        message = f"expected {error.expected or 'a file'}, found {error.found}"
        if kind == "missing" and may_be_escaped(reading.row["path"]):
            kind = "bad_name"
            message = "expected a name in UTF-8, found other bytes, listed as \\xNN: rename it"
        return reading.refuse(kind, message, retryable=isinstance(error, Unavailable))
    except MemoryError as error:  # the supervisor handles all other shortages of memory
        message = f"expected memory for its samples, found {str(error) or 'none'}"
        return reading.refuse("decoder_memory", message, retryable=True)
    except (AudioError, OSError):
        raise  # a fault of this machine, not of the recording
    except Exception as error:  # noqa: BLE001 - decoders raise many types; a file costs one row
        return reading.refuse("unexpected", f"{type(error).__name__}: {error}")


@contextmanager
def translated_errors() -> Iterator[None]:
    """Raise the stage's errors for a missing library or invalid settings."""
    try:
        yield
    except MissingDecoder as error:
        raise MissingLibrary(
            str(error),
            hint="Install what is missing, or choose another --engine. Then run the command again"
            " to resume.",
        ) from error
    except BadSettings as error:
        raise InvalidOption(str(error)) from error


class _Changed(Exception):
    """The file has changed since it was listed; the run's name stands for the listed files."""


@dataclass
class _Reading:
    members: Members
    row: Row
    settings: ExtractionSettings
    scratch: IO[bytes]
    whole: bool
    stage: Stage = "open"
    reader: DigestingReader | None = None

    @property
    def heartbeat(self) -> Heartbeat:
        return self.members.heartbeat

    def run(self) -> Extracted:
        self.heartbeat.waiting()
        if self.row["member"] is not None:  # another container would lack it, or hold another
            self._check_unchanged()
        with self.members.open(self.row) as file:
            self.heartbeat.answered(0)
            self._check_unchanged()
            monitored = MonitoredFile(file, self.heartbeat)
            self.reader = DigestingReader(monitored, sys.maxsize if self.whole else HEAD_BYTES)
            self._reached("header")
            try:
                with extract(self.reader, self.settings, name=self.row["path"]) as extraction:
                    self._reached("samples")
                    return self._drain(extraction, self.reader)
            finally:  # also after an error: a file that changed meanwhile is its cause
                self._check_unchanged()

    def _check_unchanged(self) -> None:
        """Compare the file's size and time in storage with the listing."""
        self.heartbeat.waiting()
        found = stat(self.members.where(self.row))
        self.heartbeat.answered(self._offset() or 0)
        if self.row["member"] is None:
            self._check_size(found.size)
        listed = self.row["modified_ns"]
        if not same_time(listed, found.modified_ns):
            raise _Changed(
                f"expected it last modified at {utc(listed)} as listed, found"
                f" {utc(found.modified_ns)}"
            )

    def _check_size(self, found: int) -> None:
        if found != (size := self.row["size"]):
            if self.row["member"] is not None:
                raise BadContainer(f"{found} of {size} bytes")
            raise _Changed(f"expected {size} bytes as listed, found {found}")

    def _reached(self, stage: Stage) -> None:
        self.stage = stage
        self.heartbeat.reached(stage)

    def _drain(self, extraction: Extraction, reader: DigestingReader) -> Extracted:
        order = np.dtype(self.settings.dtype).newbyteorder("<")
        windows: list[Row] = []
        for window in extraction:
            self.scratch.write(window.values.astype(order, copy=False).tobytes())
            windows.append({name: getattr(window, name) for name in _OF_WINDOWS})
            self.heartbeat.beat()
        size, sha256 = self.row["size"], reader.finish().removeprefix("sha256:")
        if self.whole:
            self._check_size(reader.hashed)
        else:  # files of one recorder may begin alike
            sha256 = hashlib.sha256(f"{sha256} {size}".encode()).hexdigest()
        summary = extraction.summary
        recording, read = summary.recording, summary.seconds_read
        seconds = read if summary.complete or recording.seconds is None else recording.seconds
        whole = {
            **{name: self.row[name] for name in ("path", "member", "label", "target", "group")},
            "recording_sha256": sha256,
            "recording_bytes": size,
            "recording_seconds": seconds,
            "recording_rate": recording.sample_rate,
            "recording_channels": recording.channels,
            "recording_format": f"{recording.format}/{recording.codec}",
        }
        for row in windows:
            row |= {**whole, "flags": list(dict.fromkeys((*summary.flags, *row["flags"])))}
        width = len(windows) and self.scratch.tell() // len(windows)
        flagged = any(row["flags"] for row in windows)
        return Extracted(tuple(windows), seconds, flagged, self.scratch, width)

    def refuse(self, kind: Kind | Cause, message: str, *, retryable: bool = False) -> Refused:
        return refused(self.row, Refusal(kind, self.stage, self._offset(), message, retryable))

    def _offset(self) -> int | None:
        return None if self.reader is None else self.reader.tell()


def same_time(listed: int | None, found: int) -> bool:
    """Whether a file's time, rounded to the listing's resolution, equals the listed time.

    Args:
        listed: nanoseconds since 1970, rounded down to the resolution of the listing; None if the
            listing has no time: then every time is accepted.
        found: the time that storage reports now, in nanoseconds since 1970.
    """
    if listed is None:
        return True
    resolution = next((each for each in _RESOLUTIONS if listed % each == 0), 1)
    return found // resolution * resolution == listed


def utc(nanoseconds: int) -> str:
    """Format a time to the nanosecond; a year that 64 bits do not hold gives the plain number."""
    try:
        return f"{np.datetime64(nanoseconds, 'ns')}Z"
    except OverflowError:
        return f"{nanoseconds} ns since 1970"
