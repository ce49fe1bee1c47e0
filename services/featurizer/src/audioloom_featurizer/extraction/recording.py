"""Extract one recording to its windows, or to a row of the ledger if it is refused.

Windows wait on scratch disk until the last sample of the recording was read. So all windows of a
recording are in the features or none is, and memory does not grow with the recording's length.
"""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

from audioloom_audio import (
    AudioError,
    DigestingReader,
    Extraction,
    Kind,
    MfccSettings,
    RefusedRecording,
    Summary,
    Window,
    extract,
)
from audioloom_storage import (
    Location,
    NotAFile,
    NotFound,
    PermissionDenied,
    StorageError,
    Unavailable,
    UnsafePath,
    open_read,
    stat,
)

from audioloom_featurizer.extraction.mtime import same_time, utc
from audioloom_featurizer.inventory.parquet import Row
from audioloom_featurizer.inventory.paths import may_be_escaped
from audioloom_featurizer.sandbox.heartbeat import Heartbeat, MonitoredFile, Stage
from audioloom_featurizer.sandbox.outcome import Cause, Refusal

TRIES = 3
WAIT_SECONDS = 0.5
IN_MEMORY_BYTES = 8 << 20
MOST_MESSAGE = 500

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
    source: Location, row: Row, settings: MfccSettings, heartbeat: Heartbeat | None = None
) -> Iterator[Extracted | Refused]:
    """Extract one recording of the inventory; retry a failure of storage a few times.

    Args:
        source: the folder that the inventory's paths are relative to.
        row: the recording's row of the inventory.
        settings: the settings of the extraction.
        heartbeat: shows the progress to the supervisor.

    Raises:
        AudioError: this machine lacks a library; the recording may be fine.
        OSError: this machine has no scratch space.
    """
    for number in range(1, TRIES + 1):
        with tempfile.SpooledTemporaryFile(IN_MEMORY_BYTES) as scratch:
            outcome = _try(source, row, settings, scratch, heartbeat or Heartbeat())
            if isinstance(outcome, Extracted) or not outcome.row["retryable"] or number == TRIES:
                yield outcome
                return
        time.sleep(WAIT_SECONDS * number)


def refused(row: Row, refusal: Refusal) -> Refused:
    """Make the ledger's row of a refused recording."""
    return Refused(
        {
            "path": row["path"],
            "member": row["member"],
            "size": row["size"],
            "modified_ns": row["modified_ns"],
            "class": refusal.kind,
            "stage": refusal.stage,
            "offset": refusal.offset,
            "message": " ".join(refusal.message.split())[:MOST_MESSAGE]
            .encode(errors="replace")
            .decode(),
            "retryable": refusal.retryable,
        }
    )


def _try(
    source: Location, row: Row, settings: MfccSettings, scratch: IO[bytes], heartbeat: Heartbeat
) -> Extracted | Refused:
    reading = _Reading(row, heartbeat)
    try:
        return reading.run(source, settings, scratch)
    except _Changed as error:
        return reading.refuse("changed", str(error))
    except RefusedRecording as error:
        return reading.refuse(error.kind, f"expected {error.expected}, found {error.found}")
    except StorageError as error:
        kinds = (name for base, name in _STORAGE_CLASSES if isinstance(error, base))
        kind: Cause = next(kinds, "storage")
        message = f"expected {error.expected or 'a file'}, found {error.found}"
        if kind == "missing" and may_be_escaped(row["path"]):
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


class _Changed(Exception):
    """The file has changed since it was listed."""


class _Reading:
    def __init__(self, row: Row, heartbeat: Heartbeat) -> None:
        self._row = row
        self._heartbeat = heartbeat
        self._stage: Stage = "open"
        self._reader: DigestingReader | None = None

    def run(self, source: Location, settings: MfccSettings, scratch: IO[bytes]) -> Extracted:
        self._heartbeat.waiting()
        where = source.child(self._row["path"])
        with open_read(where) as file:
            self._heartbeat.answered(0)
            self._check_unchanged(where)
            reader = self._reader = DigestingReader(MonitoredFile(file, self._heartbeat))
            self._reached("header")
            try:
                with extract(reader, settings, name=self._row["path"]) as extraction:
                    self._reached("samples")
                    return self._drain(extraction, reader, settings, scratch)
            finally:  # also after an error: a file that changed meanwhile is its cause
                self._check_unchanged(where)

    def _check_unchanged(self, where: Location) -> None:
        """Compare the file's size and time in storage with the listing.

        Raises:
            _Changed: they differ; the run's name stands for the listed files.
        """
        self._heartbeat.waiting()
        found = stat(where)
        self._heartbeat.answered(self._offset() or 0)
        if found.size != (size := self._row["size"]):
            raise _Changed(f"expected {size} bytes as listed, found {found.size}: scan again")
        listed = self._row["modified_ns"]
        if not same_time(listed, found.modified_ns):
            raise _Changed(
                f"expected it last modified at {utc(listed)} as listed, found"
                f" {utc(found.modified_ns)}: scan again"
            )

    def _reached(self, stage: Stage) -> None:
        self._stage = stage
        self._heartbeat.reached(stage)

    def _drain(
        self,
        extraction: Extraction,
        reader: DigestingReader,
        settings: MfccSettings,
        scratch: IO[bytes],
    ) -> Extracted:
        order = {"float32": "<f4", "float16": "<f2"}[settings.dtype]
        windows: list[Row] = []
        for window in extraction:
            scratch.write(window.values.astype(order, copy=False).tobytes())
            windows.append(self._window(window))
            self._heartbeat.beat()
        summary = extraction.summary
        sha256 = reader.finish().removeprefix("sha256:")
        if reader.hashed != self._row["size"]:
            # The features would not belong to the listing in the run's name.
            raise _Changed(
                f"expected {self._row['size']} bytes as listed, found {reader.hashed}: scan again"
            )
        whole = self._whole(summary, sha256, reader.hashed)
        rows = tuple({**row, **whole, "flags": _flags(summary, row["flags"])} for row in windows)
        width = len(rows) and scratch.tell() // len(rows)
        flagged = any(row["flags"] for row in rows)
        return Extracted(rows, whole["recording_seconds"], flagged, scratch, width)

    def _window(self, window: Window) -> Row:
        taken = {name: self._row[name] for name in ("path", "member", "label", "target", "group")}
        return {
            **taken,
            "channel": window.channel,
            "window": window.window,
            "start_seconds": window.start_seconds,
            "valid_samples": window.valid_samples,
            "valid_frames": window.valid_frames,
            "flags": window.flags,
        }

    def _whole(self, summary: Summary, sha256: str, size: int) -> Row:
        recording = summary.recording
        read, known = summary.seconds_read, recording.seconds
        return {
            "recording_sha256": sha256,
            "recording_bytes": size,
            "recording_seconds": read if summary.complete or known is None else known,
            "recording_rate": recording.sample_rate,
            "recording_channels": recording.channels,
            "recording_format": f"{recording.format}/{recording.codec}",
        }

    def refuse(self, kind: Kind | Cause, message: str, *, retryable: bool = False) -> Refused:
        return refused(self._row, Refusal(kind, self._stage, self._offset(), message, retryable))

    def _offset(self) -> int | None:
        return None if self._reader is None else self._reader.tell()


def _flags(summary: Summary, window: tuple[str, ...]) -> list[str]:
    return list(dict.fromkeys((*summary.flags, *window)))
