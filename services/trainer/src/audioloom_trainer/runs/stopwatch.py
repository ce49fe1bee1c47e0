"""The wall time of this process, divided into the classes that a trainer measures.

At each moment exactly one class is running, so the classes sum to the time that has passed. A
change of the class costs microseconds and waits for no device.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from audioloom_runs.goodput import MEASURED

_START_TICKS = 19  # field 22 of /proc/<pid>/stat, counted after the name
_first = [True]


@dataclass
class Stopwatch:
    """A clock that counts for one class at a time, at first for `importing`.

    Args:
        age: seconds that count for it already.
    """

    age: float = 0.0
    clock: Callable[[], float] = time.monotonic
    _running: str = "importing"
    _seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(MEASURED, 0.0))

    def __post_init__(self) -> None:
        self._since = time.time() - self.age
        self._changed = self.clock() - self.age

    @classmethod
    def of_process(cls) -> "Stopwatch":
        """Make one that runs since this process began, or from now on if an earlier one did."""
        return cls(age=_age() if _first and _first.pop() else 0.0)

    def enter(self, name: str) -> str:
        """Count for another class from now on; return the class before."""
        now, before = self.clock(), self._running
        self._seconds[before] += now - self._changed
        self._changed, self._running = now, name
        return before

    @contextmanager
    def during(self, name: str) -> Iterator[None]:
        """Count for another class until the block ends."""
        before = self.enter(name)
        try:
            yield
        finally:
            self.enter(before)

    def move(self, seconds: float, name: str) -> None:
        """Count *seconds* of the running class for another one."""
        self.enter(self._running)
        moved = min(max(seconds, 0.0), self._seconds[self._running])
        self._seconds[self._running] -= moved
        self._seconds[name] += moved

    def line(self) -> dict[str, Any]:
        """Return the fields of a line of progress: the begin of this process, and its classes."""
        self.enter(self._running)
        seconds = {name: round(value, 3) for name, value in self._seconds.items() if value}
        return {"since": round(self._since, 3), "seconds": seconds}


def _age() -> float:
    """Return the seconds since this process was started; 0.0 if the kernel does not tell."""
    try:
        fields = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        started = int(fields[_START_TICKS]) / os.sysconf("SC_CLK_TCK")
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - started)
    except (OSError, ValueError, IndexError):
        return 0.0
