"""The progress of a worker: one JSON object a line, the newest last.

A launcher names a file of this machine. The worker appends its lines there, and the launcher
publishes them for all workers together. Without a launcher the worker publishes
`progress/<rank>.jsonl` in the run folder itself. Storage cannot append, so the whole file is
rewritten, but rarely. It keeps all lines of epochs and events, and the last few steps of each
process. A failed write is logged and never ends a run, and the loop does not wait long for storage
that does not answer.
"""

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import structlog
from audioloom_runs.progress import read_progress
from audioloom_stage.redaction import redact
from audioloom_storage import Location, NotFound, StorageError, publish, remove

from audioloom_trainer.errors import PeerLost

log = structlog.get_logger()

EVERY_SECONDS, LOCAL_EVERY_SECONDS = 5.0, 2.0
MOST_SECONDS = 2.0
_MOST_STEP_LINES = 20
_MOST_LINES = 10_000


@dataclass
class ProgressFile:
    """The progress file of one worker.

    Args:
        common: fields of every line.
        measured: makes the fields of a line that change.
        local: path of the file from which a launcher publishes the lines; "" without a launcher.
            Where this process cannot write to it, it publishes the lines itself.
    """

    run: Location
    rank: int
    common: dict[str, Any]
    local: str = ""
    clock: Callable[[], float] = time.monotonic
    measured: Callable[[], dict[str, Any]] = dict

    def __post_init__(self) -> None:
        self._where = self.run / f"progress/{self.rank}.jsonl"
        if not os.access(self.local, os.W_OK):  # its launcher may be elsewhere
            self.local = ""
        self._lines = [] if self.local else read_progress(self._where)
        self._written = float("-inf")
        self._writer: threading.Thread | None = None

    def always(self, **values: Any) -> None:
        """Add fields to every line from now on."""
        self.common = self.common | values

    def line(self, event: str, /, **values: Any) -> dict[str, Any]:
        """Return a line as it would be noted now."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        own = {"time": now, "event": event, **self.common, **self.measured()}
        return own | values | own  # a metric may have the name of a field

    def step(self, **values: Any) -> None:
        """Note a step; the file is written at most every few seconds."""
        self._add("step", values)
        since = self._lines[-1].get("since")  # the last steps of an earlier process tell its end
        lines = (line for line in self._lines if line.get("since") == since)
        steps = [line for line in lines if line.get("event") == "step"]
        if len(steps) > _MOST_STEP_LINES:
            self._lines.remove(steps[0])
        every = LOCAL_EVERY_SECONDS if self.local else EVERY_SECONDS
        if self.clock() - self._written >= every and not self._busy:
            self.flush()

    def event(self, event: str, /, **values: Any) -> None:
        """Note an event that stays (a start, epoch, checkpoint or end), and write at once."""
        self._add(event, values)
        self.flush()

    @contextmanager
    def failure_noted(self) -> Iterator[None]:
        """Note the error that ends the run, with the lost peers if they caused it."""
        try:
            yield
        except Exception as error:
            values: dict[str, Any] = {
                "error": type(error).__name__,
                "text": redact(str(error))[:500],
            }
            if isinstance(error, PeerLost):
                values |= {"peers": [*error.lost.values()], "peer_ranks": [*error.lost]}
            self.event("failed", **values)
            raise

    def flush(self) -> None:
        """Write the file, or leave it to the next call while storage does not answer."""
        if self.local:
            self._written = self.clock()
            try:
                with Path(self.local).open("a", encoding="utf-8") as file:
                    file.write(_text(self._lines[-1]))
            except OSError as error:
                log.warning("the progress could not be noted for the launcher", error=str(error))
            return
        if self._writer is not None:
            self._writer.join(MOST_SECONDS)
        if not self._busy:
            self._written = self.clock()
            data = "".join(map(_text, self._lines))
            # In a daemon thread, which does not delay the end of the process.
            failures: list[BaseException] = []
            arguments = (data.encode(), failures)
            self._writer = threading.Thread(target=self._write, args=arguments, daemon=True)
            self._writer.start()
            self._writer.join(MOST_SECONDS)
            if failures:
                raise failures[0]
        if self._busy:
            log.warning("the progress file is late: storage does not answer")

    @property
    def _busy(self) -> bool:
        return self._writer is not None and self._writer.is_alive()

    def _write(self, data: bytes, failures: list[BaseException]) -> None:
        try:
            with suppress(NotFound):
                remove(self._where, within=self.run)
            publish(self._where, data)
        except (StorageError, OSError) as error:
            log.warning("the progress file could not be written", error=str(error))
        except BaseException as error:  # noqa: BLE001  (the loop handles it)
            failures.append(error)

    def _add(self, event: str, values: dict[str, Any]) -> None:
        self._lines.append(self.line(event, **values))
        del self._lines[:-_MOST_LINES]


def _text(line: dict[str, Any]) -> str:
    return json.dumps(line, ensure_ascii=False) + "\n"
