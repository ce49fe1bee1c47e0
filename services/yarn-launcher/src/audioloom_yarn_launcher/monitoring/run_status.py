"""Read the status of a run from its folder, for `status`, `logs --follow` and others."""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any, Literal

from audioloom_manifest.layout import MANIFEST_NAME
from audioloom_storage import Location, exists, locate

from audioloom_yarn_launcher.errors import NoRun
from audioloom_yarn_launcher.monitoring.progress import newest, read_progress, usage
from audioloom_yarn_launcher.rendezvous.causes import signal_name
from audioloom_yarn_launcher.runs.application import Pending, find_pending
from audioloom_yarn_launcher.runs.attempts import Attempt, WorkerEnd, WorkerRecord, read_attempts
from audioloom_yarn_launcher.runs.layout import log_name
from audioloom_yarn_launcher.runs.process_identity import is_alive
from audioloom_yarn_launcher.runs.sidecar_events import SidecarEvent, read_histories
from audioloom_yarn_launcher.yarn.application_spec import NAME
from audioloom_yarn_launcher.yarn.resource_manager import look_up

RunState = Literal[
    "committed",  # the manifest is there
    "finished",  # every process succeeded and nothing was committed
    "failed",
    "interrupted",
    "waiting",  # its application has not begun
    "forming",  # workers are registering
    "running",
    "restarting",  # an attempt failed, the next one begins
    "lost",  # the launcher is gone without a record of the end
    "unknown",  # begun on another machine, or in another container, and not ended
]

_APPLICATION = re.compile(r"application_[0-9]+_[0-9]+")
NEWEST_ATTEMPTS = 2
"""The last attempt may not have come as far as progress, so that of the one before is shown."""
AT_WORK = ("committed", "forming", "running", "restarting")


@dataclass(frozen=True)
class WorkerStatus:
    """The status of a worker of the last attempt, or of a sidecar.

    Args:
        attempts: number of attempts with a worker of this rank, or of starts of a sidecar.
        exit: exit code, or the signal that ended its process; "" while unknown.
        progress: the newest value of each of `PROGRESS` that its program wrote.
        usage: resources that its processes use or used.
        page: address of its web page while it runs.
    """

    rank: int
    state: str
    host: str
    pid: int | None
    attempts: int
    exit: str
    progress: dict[str, Any]
    usage: dict[str, Any]
    log: Location | None
    role: str = "worker"
    page: str = ""


@dataclass(frozen=True)
class RunStatus:
    """The status of a run: its attempts, and the application that waits to start the next."""

    folder: Location
    state: RunState
    attempts: tuple[Attempt, ...]
    pending: Pending | None = None

    @property
    def last(self) -> Attempt | None:
        """The last attempt."""
        return self.attempts[-1] if self.attempts else None

    @property
    def number(self) -> int:
        """The number of the last attempt; 0 without one."""
        return self.last.number if self.last is not None else 0

    @property
    def over(self) -> bool:
        """Tell whether the run has stopped for good, unless a person restarts it."""
        return self.state not in ("waiting", "forming", "running", "restarting", "unknown")

    @property
    def application(self) -> tuple[str, str] | None:
        """The application that is at work on the run or waits to be, and its launch."""
        if self.pending is not None and not self.over:
            return self.pending.submission.application, self.pending.submission.launch
        last = self.last
        if last is None or not last.open or self.state == "committed":
            return None
        owner = last.started.owner
        return (owner.application, last.started.launch) if owner.application else None


def locate_run(text: str) -> Location:
    """Find the folder of a run from its path, its manifest or its application's id, or NoRun."""
    if not _APPLICATION.fullmatch(text):
        location = locate(text)
        return location.parent if location.name == MANIFEST_NAME else location
    found = look_up(text)
    if found is not None and found.name.startswith(NAME) and "/" in found.name:
        return locate(found.name.removeprefix(NAME))
    told = "is not asked, or does not answer" if found is None else "knows nothing of it"
    raise NoRun(
        "the run of that application cannot be found",
        where=text,
        expected="an application of this launcher, that the ResourceManager remembers",
        found=f"one called {found.name}" if found and found.name else f"the ResourceManager {told}",
        hint="Give the folder of the run.",
    )


def read_run_status(folder: Location) -> RunStatus:
    """Read the status of a run; NoRun without a submission, an attempt or a commit."""
    attempts = tuple(read_attempts(folder))
    committed = exists(folder / MANIFEST_NAME)
    state = _state(attempts, committed=committed)
    pending = None if state in AT_WORK else find_pending(folder, attempts)
    if pending is not None and pending.waits:
        state = "waiting"
    elif pending is not None and state is None:
        ended: dict[str, RunState] = {"GONE": "lost", "KILLED": "interrupted"}
        found = pending.application
        state = "unknown" if found is None else ended.get(found.state, "failed")
    if state is None:
        raise NoRun(
            "no run lies there",
            where=folder,
            expected="the folder of a run, <root>/runs/<name>",
            found="no manifest and no record of an attempt" if exists(folder) else "nothing",
        )
    return RunStatus(folder, state, attempts, pending)


def read_worker_statuses(view: RunStatus) -> list[WorkerStatus]:
    """Read the workers of the last attempt, by rank, followed by the sidecars."""
    last = view.last
    if last is None:
        return []
    alongside = (
        read_histories(view.folder).values()
        if any(group.sidecar for group in last.started.roles)
        else ()
    )
    lines = read_progress(view.folder, NEWEST_ATTEMPTS)
    formed = (each.formed.workers for each in view.attempts if each.formed)
    attempts = Counter(seat.rank for workers in formed for seat in workers)

    def status(
        seat: WorkerRecord | SidecarEvent, state: str, attempt: int, attempts: int, page: str = ""
    ) -> WorkerStatus:
        end = seat if isinstance(seat, WorkerEnd | SidecarEvent) else None
        if view.over and state in ("running", "restarting"):
            state = "lost"
        told = lines.get(seat.rank, [])
        return WorkerStatus(
            rank=seat.rank,
            state=state,
            host=seat.host,
            pid=end.pid if end else None,
            attempts=attempts,
            exit=_exit(end) if end else "",
            progress={} if isinstance(seat, SidecarEvent) else newest(told),
            usage=usage(told, attempt),
            log=view.folder / log_name(view.folder, seat.rank, attempt) if attempt else None,
            role=seat.role,
            page=page if state == "running" else "",
        )

    return [
        *(
            status(seat, getattr(seat, "end", "running"), last.number, attempts[seat.rank])
            for seat in last.workers
        ),
        *(status(s.last, s.state, s.last.attempt, s.starts, s.page) for s in alongside),
    ]


def _state(attempts: tuple[Attempt, ...], *, committed: bool) -> RunState | None:
    if not attempts:
        return "committed" if committed else None
    last = attempts[-1]
    alive = is_alive(last.started.owner) if last.open else False
    if committed and not alive:
        return "committed"
    if alive is None:
        return "unknown"
    if last.ended is not None and not last.ended.restarts:
        return last.ended.outcome
    if not alive:
        return "lost"
    at_work: RunState = "running" if last.formed is not None else "forming"
    return at_work if last.ended is None else "restarting"


def _exit(end: WorkerEnd | SidecarEvent) -> str:
    if end.signal is not None:
        return signal_name(end.signal)
    return "" if end.exit_code is None else str(end.exit_code)
