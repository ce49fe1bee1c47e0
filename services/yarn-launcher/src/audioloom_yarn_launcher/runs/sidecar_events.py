"""The records of sidecars, one for each event.

    sidecars/<k>.json    k = 1, 2, … through the life of the run folder; published once and whole

The log of a process is `logs/<rank>/<attempt>.log`, with the attempt in which it was started; a
sidecar that is restarted in the same attempt continues that log.
"""

import re
from dataclasses import dataclass
from typing import Literal

from audioloom_storage import Location, make_folder, publish

from audioloom_yarn_launcher.runs.record import RecordBase, file_names, read_record, record_bytes

FOLDER = "sidecars"
_NAME = re.compile(r"([1-9][0-9]{0,8})\.json")

Event = Literal[
    "started",  # its process was started
    "ready",  # its web page answers
    "ended",  # its process has ended, or was never started
]


class SidecarEvent(RecordBase):
    """One event of a sidecar.

    Args:
        attempt: the gang's attempt in which the process was started; 0 if none ever was.
        cause: why it failed, in words that continue a subject; "" if it did not.
    """

    kind: Literal["sidecar-event"] = "sidecar-event"
    event: Event
    time: str
    rank: int
    role: str
    index: int
    attempt: int
    worker: str = ""
    host: str = ""
    address: str = ""
    pid: int | None = None
    url: str = ""
    exit_code: int | None = None
    signal: int | None = None
    cause: str = ""
    stopped: bool = False
    restarted: bool = False


@dataclass(frozen=True)
class SidecarHistory:
    """The history of one sidecar: its newest event, its failures, and its page while it has one."""

    last: SidecarEvent
    starts: int = 0
    page: str = ""
    failures: tuple[str, ...] = ()

    @property
    def state(self) -> str:
        """The sidecar's state, in the words of a worker's states."""
        if self.last.event != "ended":
            return "running"
        if self.last.stopped:
            return "stopped"
        if not self.last.cause:
            return "finished"
        return "restarting" if self.last.restarted else "failed"

    def after(self, event: SidecarEvent) -> "SidecarHistory":
        """The history with one more event."""
        return SidecarHistory(
            last=event,
            starts=self.starts + (event.event == "started"),
            page=event.url if event.event == "ready" else "",
            failures=(*self.failures, event.cause) if event.cause else self.failures,
        )


def read_histories(folder: Location) -> dict[int, SidecarHistory]:
    """Read the history of each sidecar, by rank; BadRecord if one cannot be read."""
    found: dict[int, SidecarHistory] = {}
    for number in sorted(_numbers(folder)):
        event = read_record(folder / f"{FOLDER}/{number}.json", SidecarEvent)
        if event is None:
            continue
        before = found.get(event.rank)
        if before is None or before.last.role != event.role:
            before = SidecarHistory(event)  # the gang had another size, so the rank meant another
        found[event.rank] = before.after(event)
    return found


def record_event(folder: Location, event: SidecarEvent) -> None:
    """Record an event after the others; only one thread at a time may do so."""
    number = max(_numbers(folder), default=0) + 1
    make_folder(folder / FOLDER, private=True)
    publish(folder / f"{FOLDER}/{number}.json", record_bytes(event))


def _numbers(folder: Location) -> list[int]:
    return [int(number) for number in file_names(folder / FOLDER, _NAME)]
