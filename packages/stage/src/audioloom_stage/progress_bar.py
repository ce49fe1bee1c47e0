"""Show progress: a bar on a terminal, a log line every ten seconds otherwise."""

import logging
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import structlog

from audioloom_stage._terminal import can_draw, show_bar
from audioloom_stage.logs import current_logs

EVERY_SECONDS = 10.0
REDRAW_SECONDS = 0.1

log = structlog.get_logger()

Item = TypeVar("Item")


class Progress:
    """Counts work that is done and shows it.

    Attributes:
        done: units finished so far.
        total: all units, or None while unknown; may be set later.
    """

    def __init__(self, total: int | None, what: str, unit: str) -> None:
        self.total = total
        self.done = 0
        self._what = what
        self._unit = unit
        self._started = self._told = time.monotonic()
        settings = current_logs()
        self._silent = settings.level > logging.INFO
        self._draws = not (settings.as_json or self._silent) and can_draw()

    def advance(self, count: int = 1) -> None:
        """Count *count* more units as done. Cheap: call it for each unit."""
        self.done += count
        now = time.monotonic()
        if now - self._told < (REDRAW_SECONDS if self._draws else EVERY_SECONDS):
            return
        self._told = now
        if self._draws:
            show_bar(self.line(now - self._started))
        elif not self._silent:
            log.info(self._what, **self._numbers(now - self._started))

    def over(self, items: Iterable[Item]) -> Iterator[Item]:
        """Pass items on and count each when the next one is requested."""
        for item in items:
            yield item
            self.advance()

    def finish(self) -> None:
        """Log how much was done and how long it took."""
        if not self._silent:
            log.info(self._what, finished=True, **self._numbers(time.monotonic() - self._started))

    def _numbers(self, seconds: float) -> dict[str, object]:
        numbers: dict[str, object] = {"done": self.done, "unit": self._unit}
        if self.total is not None:
            numbers["total"] = self.total
        numbers["seconds"] = round(seconds, 1)
        return numbers

    def line(self, seconds: float) -> str:
        """Draw the bar as it stands *seconds* after the start, no wider than the terminal."""
        rate = self.done / seconds if seconds > 0 else 0.0
        columns = max(shutil.get_terminal_size().columns - 1, 1)
        return bar_line(self._what, self._unit, self.done, self.total, rate)[:columns]


def bar_line(what: str, unit: str, done: int, total: int | None, rate: float | None) -> str:
    """Draw a bar with the units done, the rate in units a second, and the estimated time left."""
    count = f"{done:,}" if total is None else f"{done:,}/{total:,}"
    text = f"{what} {count} {unit}" + ("" if rate is None else f"  {rate:,.1f}/s")
    if total:
        share = min(done / total, 1.0)
        full = round(share * 20)
        text = f"{'█' * full}{'░' * (20 - full)} {share:4.0%}  {text}"
        if rate:
            text += f"  {_clock((total - done) / rate)} left"
    return text


@contextmanager
def progress(total: int | None, what: str, unit: str) -> Iterator[Progress]:
    """Show the progress of a piece of work on stderr; show nothing with `--quiet`.

        with progress(len(files), "checking", "files") as bar:
            for file in bar.over(files): …

    *what* is the work, as a verb; *unit* is what is counted, in the plural.
    """
    bar = Progress(total, what, unit)
    try:
        yield bar
    finally:
        show_bar("")
    bar.finish()


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(max(seconds, 0)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
