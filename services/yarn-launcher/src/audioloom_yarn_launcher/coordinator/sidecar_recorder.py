"""Logs and records the events of sidecars in a thread: the coordinator never waits for storage."""

from concurrent.futures import ThreadPoolExecutor

import structlog
from audioloom_storage import Location, StorageError

from audioloom_yarn_launcher.runs.sidecar_events import SidecarEvent, numbers, record_event

log = structlog.get_logger()


class SidecarRecorder:
    """Queues the events of a run's sidecars for the thread that records them.

    Args:
        folder: of the run.
    """

    def __init__(self, folder: Location) -> None:
        self._folder = folder
        self._writer = ThreadPoolExecutor(1, "sidecars")
        self._last: int | None = None

    def __call__(self, event: SidecarEvent) -> None:
        """Queue an event."""
        who = {"role": event.role, "index": event.index}
        if event.event == "ready":
            log.info("web page ready", **who, page=event.url)
        elif event.event == "ended" and event.cause:
            log.warning("sidecar failed", **who, cause=event.cause, restarting=event.restarted)
        self._writer.submit(self._put_on_record, event)

    def close(self) -> None:
        """Wait until every event is recorded."""
        self._writer.shutdown()

    def _put_on_record(self, event: SidecarEvent) -> None:
        try:
            if self._last is None:
                self._last = max(numbers(self._folder), default=0)
            self._last += 1
            record_event(self._folder, self._last, event)
        except StorageError as error:  # a missing record must not stop the run
            log.warning("event of a sidecar cannot be recorded", found=str(error))
