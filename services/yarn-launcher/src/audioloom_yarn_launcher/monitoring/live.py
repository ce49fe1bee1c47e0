"""The live view of a run, of `status --follow` and of `run` itself: a page, or lines in the log."""

import os
import shutil
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any

import structlog
from audioloom_stage.escapes import safe_text
from audioloom_stage.progress_bar import bar_line, draws, shown
from audioloom_stage.terminal import show_bar
from audioloom_storage import Location, StorageError

from audioloom_yarn_launcher.errors import NoRun
from audioloom_yarn_launcher.monitoring.run_status import (
    RunStatus,
    WorkerStatus,
    read_run_status,
    read_worker_statuses,
)
from audioloom_yarn_launcher.monitoring.tables import worker_table

EVERY_S = 2.0
TELL_EVERY_S = 10.0
_STATES = {"waiting": "waiting for the application to begin", "forming": "waiting for the workers"}
_TEXTS = {
    "step": "step {:,}",
    "steps": " of {:,}",
    "loss": "loss {:.4g}",
    "steps_per_second": "{:.4g} steps/s",
    "input_wait": "input wait {:.1%}",
}
HINT = "Ctrl-C ends the watching and not the run"
HINT_HERE = "Ctrl-C ends the run"

log = structlog.get_logger()


class LiveView:
    """A view of a run: a page on a terminal, otherwise a line in the log from time to time.

    The last line of the page is *hint*; a line in the log was *told* last at that monotonic time.
    """

    def __init__(self, folder: Location, hint: str, told: float = float("-inf")) -> None:
        self.over = threading.Event()
        self._folder, self._hint, self._told = folder, hint, told
        self._pace = Pace()

    def tick(self) -> None:
        """Read the run and show it; a run that cannot be read now is shown the next time."""
        with suppress(StorageError, NoRun):
            status = read_run_status(self._folder)
            if status.over:
                self.over.set()
                return
            if draws():
                workers, size = read_worker_statuses(status), shutil.get_terminal_size()
                rate = self._pace.rate(status, workers)
                show_bar("\n".join(live_page(status, workers, size, self._hint, rate)))
            elif time.monotonic() - self._told >= TELL_EVERY_S:
                self._told = time.monotonic()
                numbers = _numbers(status, read_worker_statuses(status))
                line = progress_line(status.state, numbers)
                log.info("the run goes on", readable=line, state=status.state, **numbers)


class Pace:
    """Steps a second since a view first saw them, with all that is done between steps."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._first: tuple[int, int, float] | None = None  # attempt, step, time

    def rate(self, view: RunStatus, workers: Sequence[WorkerStatus]) -> float | None:
        """The pace of the newest attempt; None before its leader has made a step."""
        leader = _leader(workers)
        if leader is None or view.last is None:
            return None
        attempt, step, now = view.last.number, int(leader.progress["step"]), self._clock()
        if self._first is None or self._first[0] != attempt or step < self._first[1]:
            self._first = attempt, step, now
        _, since, begun = self._first
        return (step - since) / (now - begun) if step > since and now > begun else None


def show_live(folder: Location) -> None:
    """Show the run until it is over or Ctrl-C, and leave nothing on the terminal."""
    if read_run_status(folder).over:
        return
    view = LiveView(folder, HINT)
    with suppress(KeyboardInterrupt), shown(view.tick, EVERY_S):
        view.over.wait()


def shown_beside(folder: Location, hint: str) -> AbstractContextManager[None]:
    """Show the run while the block waits for its end."""
    return shown(LiveView(folder, hint, told=time.monotonic()).tick, EVERY_S)


def live_page(
    view: RunStatus,
    workers: Sequence[WorkerStatus],
    size: os.terminal_size,
    hint: str = HINT,
    rate: float | None = None,
) -> list[str]:
    """Make the lines of the view for a terminal of *size*; *rate* is in steps a second.

    If there is no room for all workers, the view shows the workers that differ from most.
    """
    pages = [f"{each.role}  {safe_text(each.page)}" for each in workers if each.page]
    last, leader, facts = view.last, _leader(workers), [view.folder.name, view.state]
    if last is not None:
        facts += [f"{last.started.size} workers ({last.started.on})"]
        facts += [f"attempt {last.number} since {last.started.started[11:19]} UTC"]
    head = ["  ".join(map(safe_text, facts)), *pages]
    if leader is not None:
        steps = leader.progress.get("steps")
        total = steps if isinstance(steps, int) else None
        head.append(bar_line("training", "steps", leader.progress["step"], total, rate))
    foot = [] if view.pending is None else [f"it waits: {safe_text(view.pending.because)}"]
    causes = [(each.number, each.ended.cause) for each in view.attempts[-3:] if each.ended]
    foot += [f"attempt {at} failed: {safe_text(cause.text)}" for at, cause in causes if cause]
    foot.append(hint)
    room = size.lines - len(head) - len(foot) - 5  # two empty lines, heading, "more", the cursor
    shown = _most_telling(workers, max(room, 1))
    body = worker_table(shown, size.columns - 1, over=False)
    if len(shown) < len(workers):
        body.append(f"… and {len(workers) - len(shown)} more")
    lines = [*head, "", *body, "", *foot]
    return [line[: size.columns - 1] for line in lines]


def _leader(workers: Sequence[WorkerStatus]) -> WorkerStatus | None:
    return next((each for each in workers if isinstance(each.progress.get("step"), int)), None)


def _most_telling(workers: Sequence[WorkerStatus], room: int) -> list[WorkerStatus]:
    """Choose *room* workers, by rank: workers in an unusual state first, then the slowest."""
    if len(workers) <= room:
        return list(workers)
    states = [each.state for each in workers]
    usual = max(set(states), key=states.count)

    def key(worker: WorkerStatus) -> tuple[bool, float, int]:
        step = worker.progress.get("step")
        return worker.state == usual, step if isinstance(step, int) else -1, worker.rank

    return sorted(sorted(workers, key=key)[:room], key=lambda each: each.rank)


def progress_line(state: str, numbers: Mapping[str, Any]) -> str:
    """Say in one line for people how far a run is."""
    facts = [_STATES.get(state, state)]
    if "attempt" in numbers:
        facts.append(f"attempt {numbers['attempt']}, workers: {numbers['workers']}")
    # A command writes the rest, and may write anything.
    told = {
        key: text.format(numbers[key])
        for key, text in _TEXTS.items()
        if isinstance(numbers.get(key), int | float)
    }
    of_all = told.pop("steps", "")
    if "step" in told:
        told["step"] += of_all
    return "  ".join([*facts, *told.values()])


def _numbers(view: RunStatus, workers: Sequence[WorkerStatus]) -> dict[str, Any]:
    numbers: dict[str, Any] = {}
    if view.last is not None:
        numbers |= {"attempt": view.last.number, "workers": view.last.started.size}
    leader = _leader(workers)
    if leader is not None:
        named = ("step", "steps", "loss", "steps_per_second", "input_wait")
        numbers |= {key: leader.progress[key] for key in named if key in leader.progress}
    return numbers
