"""The progress of a worker in the run folder: `progress/<rank>.jsonl`.

One JSON object a line, the newest last. Storage cannot append, so the whole file is rewritten, but
rarely. It keeps all lines of epochs and events and the last few of the other lines. A failed write
is logged and never ends a run, and the loop does not wait long for storage that does not answer.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any

import structlog
from audioloom_stage.redaction import redact
from audioloom_storage import Location, NotFound, StorageError, publish, read_bytes, remove

from audioloom_trainer.errors import PeerLost

log = structlog.get_logger()

EVERY_SECONDS = 5.0
MOST_SECONDS = 2.0
_MOST_STEP_LINES = 20
_MOST_LINES = 10_000
_MOST_BYTES = 16 << 20


class ProgressFile:
    """The progress file of one worker; *common* are fields of every line."""

    def __init__(
        self,
        run: Location,
        rank: int,
        common: dict[str, Any],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._run, self._where = run, run / f"progress/{rank}.jsonl"
        self._common = common
        self._clock = clock
        self._lines = read_progress(self._where)
        self._written = float("-inf")
        self._writer: threading.Thread | None = None

    def step(self, **values: Any) -> None:
        """Note a step; the file is written at most every few seconds."""
        self._add("step", values)
        steps = [line for line in self._lines if line.get("event") == "step"]
        if len(steps) > _MOST_STEP_LINES:
            self._lines.remove(steps[0])
        if self._clock() - self._written >= EVERY_SECONDS and not self._busy:
            self.flush()

    def event(self, event: str, **values: Any) -> None:
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
        if self._writer is not None:
            self._writer.join(MOST_SECONDS)
        if not self._busy:
            self._written = self._clock()
            data = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in self._lines)
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
                remove(self._where, within=self._run)
            publish(self._where, data)
        except (StorageError, OSError) as error:
            log.warning("the progress file could not be written", error=str(error))
        except BaseException as error:  # noqa: BLE001  (the loop handles it)
            failures.append(error)

    def _add(self, event: str, values: dict[str, Any]) -> None:
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._lines.append({"time": now, "event": event, **self._common, **values})
        del self._lines[:-_MOST_LINES]


def read_progress(where: Location) -> list[dict[str, Any]]:
    """Read the lines of a progress file, oldest first, without unreadable lines."""
    try:
        text = read_bytes(where, limit=_MOST_BYTES).decode(errors="replace")
    except (StorageError, OSError):
        return []
    lines = []
    for line in text.splitlines():
        with suppress(ValueError):
            value = json.loads(line)
            if isinstance(value, dict):
                lines.append(value)
    return lines
