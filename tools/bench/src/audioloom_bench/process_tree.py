"""What a process takes with all that it has started: time of processors, memory."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

MIB = 1 << 20
_EVERY_SECONDS = 0.5
_FIRST_TIME = 11  # own time in user and system mode, then those of the dead
_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(root: int) -> float:
    """Time of processors that a process and its descendants have taken, in seconds.

    Of those that have ended their parents know; so nothing is lost, as long as whoever ended had
    been waited for, and nobody does so just now: to be asked between two pieces of work.
    """
    taken = [_stat(each)[_FIRST_TIME : _FIRST_TIME + 4] for each in _tree(root)]
    return sum(map(int, chain.from_iterable(taken))) / _TICKS


@dataclass
class Peak:
    """The most memory that a tree of processes held at once, in MiB.

    Proportional set sizes: what processes share counts once.
    """

    megabytes: float = 0.0


@contextmanager
def peak_memory(root: int) -> Iterator[Peak]:
    """Look at a process and its descendants twice a second until the block ends."""
    peak, over = Peak(), threading.Event()

    def look() -> None:
        while True:
            now = sum(map(_proportional_bytes, _tree(root)))
            peak.megabytes = max(peak.megabytes, now / MIB)
            if over.wait(_EVERY_SECONDS):
                return

    thread = threading.Thread(target=look, name="peak-memory", daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        over.set()
        thread.join()


def _tree(root: int) -> list[int]:
    """A process and its living descendants."""
    children: dict[int, list[int]] = {}
    for each in (int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()):
        if stat := _stat(each):
            children.setdefault(int(stat[1]), []).append(each)
    found = [root]
    for each in found:  # it grows on the way
        found += children.get(each, [])
    return found


def _stat(process: int) -> list[str]:
    """Its fields from the state on, `man 5 proc`; empty if there is no such process any more."""
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return text.rpartition(") ")[2].split()


def _proportional_bytes(process: int) -> int:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))
