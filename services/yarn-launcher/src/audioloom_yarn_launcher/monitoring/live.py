"""`status --follow`: a run as it goes, drawn over itself on a terminal, else told in the log."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Sequence
from contextlib import suppress

import structlog
from audioloom_stage import safe_text
from audioloom_stage.progress_bar import bar_line
from audioloom_storage import Location

from audioloom_yarn_launcher.monitoring.run_status import (
    RunView,
    WorkerView,
    view_run,
    view_workers,
)
from audioloom_yarn_launcher.monitoring.worker_table import worker_table

EVERY_S = 2.0
TELL_EVERY_S = 10.0
HINT = "Ctrl-C ends the watching and not the run"

log = structlog.get_logger()


def show_live(folder: Location) -> None:
    """Show the run until it is over, or Ctrl-C; nothing stays on the terminal."""
    screen = Screen() if can_draw() else None
    told, before = "", float("-inf")
    with suppress(KeyboardInterrupt):
        while not (view := view_run(folder)).over:
            begun = time.monotonic()
            workers = view_workers(view)
            if screen is not None:
                screen.draw(live_page(view, workers, shutil.get_terminal_size()))
            elif view.state != told or begun - before >= TELL_EVERY_S:
                log.info("the run goes on", state=view.state, **_numbers(view, workers))
                told, before = view.state, begun
            time.sleep(max(EVERY_S, time.monotonic() - begun))
    if screen is not None:
        screen.clear()


def live_page(view: RunView, workers: Sequence[WorkerView], size: os.terminal_size) -> list[str]:
    """The lines of a terminal of that size.

    Of more workers than there is room for, those that are not like the most are shown.
    """
    pages = [f"{each.role}  {safe_text(each.page)}" for each in workers if each.page]
    head = [_title(view), *pages, *_bar(workers)]
    foot = [*_causes(view), HINT]
    if view.pending is not None:
        foot = [f"it waits: {safe_text(view.pending.because)}", *foot]
    room = size.lines - len(head) - len(foot) - 5  # two empty lines, heading, "more", the cursor
    shown = _most_telling(workers, max(room, 1))
    body = worker_table(shown, size.columns - 1, over=False)
    if len(shown) < len(workers):
        body.append(f"… and {len(workers) - len(shown)} more")
    lines = [*head, "", *body, "", *foot]
    return [line[: size.columns - 1] for line in lines]


class Screen:
    """Lines at the bottom of a terminal that are drawn over each other."""

    def __init__(self) -> None:
        self._drawn = 0

    def draw(self, lines: Sequence[str]) -> None:
        """Draw these in the place of those before."""
        over = f"\x1b[{self._drawn}F" if self._drawn else ""
        try:
            self._write(over + "".join(f"\x1b[K{line}\n" for line in lines) + "\x1b[J")
        finally:  # Ctrl-C may come between them, and what is drawn has to be taken away
            self._drawn = len(lines)

    def clear(self) -> None:
        """Take them away."""
        if self._drawn:
            self._write(f"\x1b[{self._drawn}F\x1b[J")
        self._drawn = 0

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError):  # nobody looks any more
            sys.stderr.write(text)
            sys.stderr.flush()


def can_draw() -> bool:
    """Whether somebody looks who sees lines drawn over each other."""
    return sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def _title(view: RunView) -> str:
    last = view.last
    facts = [view.folder.name, view.state]
    if last is not None:
        facts += [f"{last.started.size} workers ({last.started.on})"]
        facts += [f"attempt {last.started.attempt} since {last.started.started[11:19]} UTC"]
    return "  ".join(map(safe_text, facts))


def _bar(workers: Sequence[WorkerView]) -> list[str]:
    leader = _leader(workers)
    if leader is None:
        return []
    progress = leader.progress
    rate, steps = progress.get("steps_per_second"), progress.get("steps")
    return [
        bar_line(
            "training",
            "steps",
            progress["step"],
            steps if isinstance(steps, int) else None,
            float(rate) if isinstance(rate, int | float) else None,
        )
    ]


def _leader(workers: Sequence[WorkerView]) -> WorkerView | None:
    """The first that says how far it is: a gang goes in step."""
    return next((each for each in workers if isinstance(each.progress.get("step"), int)), None)


def _causes(view: RunView) -> list[str]:
    """Why the attempts before this one ended."""
    return [
        f"attempt {each.started.attempt} failed: {safe_text(each.ended.cause.text)}"
        for each in view.attempts[-3:]
        if each.ended is not None and each.ended.cause is not None
    ]


def _most_telling(workers: Sequence[WorkerView], room: int) -> list[WorkerView]:
    """As many as there is room for, by rank: first those in another state, then who is behind."""
    if len(workers) <= room:
        return list(workers)
    states = [each.state for each in workers]
    usual = max(set(states), key=states.count)

    def key(worker: WorkerView) -> tuple[bool, float, int]:
        step = worker.progress.get("step")
        return worker.state == usual, step if isinstance(step, int) else -1, worker.rank

    return sorted(sorted(workers, key=key)[:room], key=lambda each: each.rank)


def _numbers(view: RunView, workers: Sequence[WorkerView]) -> dict[str, object]:
    numbers: dict[str, object] = {}
    if view.last is not None:
        numbers |= {"attempt": view.last.started.attempt, "workers": view.last.started.size}
    leader = _leader(workers)
    if leader is not None:
        named = ("step", "steps", "loss", "steps_per_second", "input_wait")
        numbers |= {key: leader.progress[key] for key in named if key in leader.progress}
    return numbers
