"""How far a worker is, in the run folder, for whoever watches: `progress/<rank>.jsonl`.

One JSON object a line, the newest last. Storage cannot append, so the file is written anew, seldom,
behind the loop; the lines of epochs and events stay, of the lines in between only the last few.
A failure to write it is logged and never ends a run.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import structlog
from audioloom_storage import Location, NotFound, StorageError, publish, read_bytes, remove

from audioloom_trainer.run_folder import progress_location

__all__ = ["ProgressFile", "read_progress"]

log = structlog.get_logger()

EVERY_SECONDS = 5.0
_MOST_STEP_LINES = 20
_MOST_LINES = 10_000
_MOST_BYTES = 16 << 20


class ProgressFile:
    """The progress of one worker.

    Args:
        run: the run's folder.
        rank: the worker.
        common: what every line carries: attempt, generation, host.
        clock: seconds, for tests.
    """

    def __init__(
        self,
        run: Location,
        rank: int,
        common: dict[str, Any],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._where = progress_location(run, rank)
        self._common = common
        self._clock = clock
        self._lines = read_progress(self._where)
        self._written = float("-inf")
        self._lock = threading.Lock()

    def step(self, **values: Any) -> None:
        """Note a step; written at most every few seconds."""
        self._add("step", values)
        steps = [line for line in self._lines if line.get("event") == "step"]
        if len(steps) > _MOST_STEP_LINES:
            self._lines.remove(steps[0])
        if self._clock() - self._written >= EVERY_SECONDS:
            self.flush()

    def event(self, event: str, **values: Any) -> None:
        """Note something that stays: a start, an epoch, a checkpoint, an end. Written at once."""
        self._add(event, values)
        self.flush()

    def flush(self) -> None:
        """Write the file."""
        with self._lock:
            self._written = self._clock()
            data = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in self._lines)
            try:
                with suppress(NotFound):
                    remove(self._where)
                publish(self._where, data.encode())
            except (StorageError, OSError) as error:
                log.warning("the progress could not be written", error=str(error))

    def _add(self, event: str, values: dict[str, Any]) -> None:
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._lines.append({"time": now, "event": event, **self._common, **values})
        del self._lines[:-_MOST_LINES]


def read_progress(where: Location) -> list[dict[str, Any]]:
    """The lines of a progress file, oldest first; what cannot be read is left out."""
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
