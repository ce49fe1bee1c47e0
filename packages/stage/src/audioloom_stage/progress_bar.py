"""Show progress: a bar with a clock on a terminal, a log line every ten seconds otherwise."""

import contextvars
import logging
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

import structlog

from audioloom_stage.logs import current_logs
from audioloom_stage.terminal import can_draw, counted, show_bar

EVERY_SECONDS = 10.0
REDRAW_SECONDS = 0.2

log = structlog.get_logger()

Item = TypeVar("Item")


class Progress:
    """Counts work that is done; `progress` shows it.

    Attributes:
        done: units finished so far; add those of an earlier run here, which took no time now.
        total: all units, or None while unknown; may be set later.
    """

    def __init__(self, total: int | None, what: str, unit: str) -> None:
        self.total = total
        self.done = 0
        self._what = what
        self._unit = unit
        self._started = self._told = time.monotonic()
        self._first: tuple[float, int] | None = None

    def advance(self, count: int = 1) -> None:
        """Count *count* more units as done. Cheap: call it for each unit."""
        self.done += count
        if self._first is None:
            self._first = time.monotonic(), self.done

    def over(self, items: Iterable[Item]) -> Iterator[Item]:
        """Pass items on and count each when the next one is requested."""
        for item in items:
            yield item
            self.advance()

    @property
    def rate(self) -> float | None:
        """Units a second since the first was done, without what came before; None until known."""
        if self._first is None:
            return None
        since, before = self._first
        seconds = time.monotonic() - since
        return (self.done - before) / seconds if self.done > before and seconds > 0 else None

    def line(self) -> str:
        """Draw the bar as it stands, no wider than the terminal."""
        columns = max(shutil.get_terminal_size().columns - 1, 1)
        text = self._what
        if self._unit:
            text = bar_line(self._what, self._unit, self.done, self.total, self.rate)
        if self.rate is None:
            text += f"  {_clock(time.monotonic() - self._started)}"
        return text[:columns]

    def tell(self, *, finished: bool = False) -> None:
        """Log how much is done."""
        rate, seconds = self.rate, time.monotonic() - self._started
        numbers: dict[str, object] = {"finished": True} if finished else {}
        text = self._what
        if self._unit:
            numbers |= {"done": self.done, "unit": self._unit}
            whole = None if finished else self.total
            text += f": {_of(self.done, whole, ' of ', self._unit)}"
        if self.total is not None:
            numbers["total"] = self.total
        if finished:
            text += f" in {seconds:,.1f} s"
        elif rate is None:
            text += f", {_clock(seconds)} so far"
        else:
            text += f", {rate:,.1f}/s{_left(self.done, self.total, rate)}"
        log.info(self._what, readable=text, **numbers, seconds=round(seconds, 1))

    def tick(self) -> None:
        """Redraw the bar, or log a line if the last one is old enough."""
        if draws():
            show_bar(self.line())
        elif time.monotonic() - self._told >= EVERY_SECONDS:
            self._told = time.monotonic()
            self.tell()


def bar_line(what: str, unit: str, done: int, total: int | None, rate: float | None) -> str:
    """Draw a bar with the units done, the rate in units a second, and the estimated time left."""
    text = f"{what} {_of(done, total, '/', unit)}" + ("" if rate is None else f"  {rate:,.1f}/s")
    if total:
        share = min(done / total, 1.0)
        full = round(share * 20)
        text = f"{'█' * full}{'░' * (20 - full)} {share:4.0%}  {text}{_left(done, total, rate)}"
    return text


@contextmanager
def progress(total: int | None, what: str, unit: str) -> Iterator[Progress]:
    """Show the progress of a piece of work on stderr; show nothing with `--quiet`.

        with progress(len(files), "checking", "files") as bar:
            for file in bar.over(files): …

    *what* is the work, as a verb; *unit* is what is counted, in the plural.
    """
    bar = Progress(total, what, unit)
    with shown(bar.tick):
        yield bar
    if not _silent():
        bar.tell(finished=True)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show that work without a count goes on, such as "starting Spark", from its first moment."""
    if not _silent():
        log.info(what)
    with shown(Progress(None, what, "").tick):
        yield


_ticks: list[Callable[[], None]] = []
"""The views of this process, outermost first: the innermost is shown."""


@contextmanager
def shown(tick: Callable[[], None], every: float | None = None) -> Iterator[None]:
    """Keep a view on the screen, from a thread, until the block ends; not with `--quiet`.

    Its *tick* is called at once and *every* so many seconds, by default as often as a clock needs
    it. A tick draws by `show_bar`, or logs a line from time to time where `draws` is false.
    """
    if _silent():
        yield
        return
    ended = threading.Event()
    # With the values that are bound here, which a thread does not inherit.
    context = contextvars.copy_context()
    thread = threading.Thread(
        target=context.run, args=(_keep_showing, tick, every, ended), name="progress", daemon=True
    )
    try:
        _ticks.append(tick)
        thread.start()
        yield
    finally:
        # Ctrl-C may come during the start, when the first view is already drawn.
        ended.set()
        with suppress(RuntimeError):  # it never started
            thread.join()
        _ticks[:] = [each for each in _ticks if each is not tick]
        show_bar("")


def draws() -> bool:
    """Return whether views are drawn on a terminal; otherwise they log lines."""
    return can_draw() and not current_logs().as_json


def _keep_showing(tick: Callable[[], None], every: float | None, ended: threading.Event) -> None:
    while not ended.is_set():
        if _ticks[-1:] == [tick]:
            tick()
        ended.wait(REDRAW_SECONDS if every is None else every)


def _silent() -> bool:
    # A program that uses this package as a library has not configured its log.
    return not structlog.is_configured() or current_logs().level > logging.INFO


def _of(done: int, total: int | None, between: str, unit: str) -> str:
    return counted(done, unit) if total is None else f"{done:,}{between}{counted(total, unit)}"


def _left(done: int, total: int | None, rate: float | None) -> str:
    return f"  {_clock((total - done) / rate)} left" if total and rate else ""


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(max(seconds, 0)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
