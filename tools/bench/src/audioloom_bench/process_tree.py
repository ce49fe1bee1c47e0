"""What a process takes with all that it has started: time of processors, memory."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MIB = 1 << 20
_EVERY_SECONDS = 0.5
_PARENT, _TIMES, STARTED = 1, slice(11, 15), 19
"""Where they stand in `stat_fields`: its parent, its times and those of the dead, its start."""
_TICKS = os.sysconf("SC_CLK_TCK")
_IGNORES_CHILDREN = 1 << (signal.SIGCHLD - 1)


class Watch:
    """What a process and its descendants have taken so far.

    Of most that have ended their parents know. Whoever ignores SIGCHLD, as pyspark's daemon does,
    learns nothing: of such children what they had taken when last looked at counts.
    """

    def __init__(self, root: int) -> None:
        self.megabytes = 0.0
        """The most memory held at once; what processes share counts once (PSS)."""
        self.peaks: dict[tuple[int, str], float] = {}
        """The most memory that each process held by itself, by its id and name."""
        self.unwaited: dict[tuple[int, str], int] = {}
        """Ticks of each living process, by its id and start, whose end nobody will know of."""
        self._root = root
        self._lost = 0
        self._lock = threading.Lock()

    def cpu_seconds(self) -> float:
        """Time of processors; to be asked between two pieces of work, when nobody just ends."""
        with self._lock:
            return self._ticks() / _TICKS

    def look(self) -> None:
        """Remember what may be gone when next somebody asks."""
        with self._lock:
            self._ticks()
        processes = _tree(self._root)
        self.megabytes = max(self.megabytes, sum(map(_proportional_bytes, processes)) / MIB)
        for each in processes:
            status = _status(each)
            if "VmHWM" in status:
                self.peaks[each, status["Name"]] = int(status["VmHWM"].split()[0]) / 1024

    def _ticks(self) -> int:
        unwaited: dict[tuple[int, str], int] = {}
        total = 0
        for each in _tree(self._root):
            if not (stat := stat_fields(each)):
                continue
            taken = sum(map(int, stat[_TIMES]))
            total += taken
            if _ignores_children(int(stat[_PARENT])):
                unwaited[each, stat[STARTED]] = taken
        self._lost += sum(self.unwaited[gone] for gone in self.unwaited.keys() - unwaited.keys())
        self.unwaited = unwaited
        return total + self._lost


@contextmanager
def watched(root: int) -> Iterator[Watch]:
    """Look at a process and its descendants twice a second until the block ends."""
    watch, over = Watch(root), threading.Event()

    def work() -> None:
        while True:
            watch.look()
            if over.wait(_EVERY_SECONDS):
                return

    thread = threading.Thread(target=work, name="watch", daemon=True)
    thread.start()
    try:
        yield watch
    finally:
        over.set()
        thread.join()


def _tree(root: int) -> list[int]:
    """A process and its living descendants."""
    children: dict[int, list[int]] = {}
    for each in (int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()):
        if stat := stat_fields(each):
            children.setdefault(int(stat[_PARENT]), []).append(each)
    found = [root]
    for each in found:  # it grows on the way
        found += children.get(each, [])
    return found


def stat_fields(process: int) -> list[str]:
    """Its fields from the state on, `man 5 proc`; empty if there is no such process any more."""
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return text.rpartition(") ")[2].split()


def _status(process: int) -> dict[str, str]:
    """What the system says of a process, by name; nothing of one that is gone."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return {}
    pairs = (line.partition(":") for line in lines)
    return {name: value.strip() for name, _, value in pairs}


def _ignores_children(process: int) -> bool:
    return bool(int(_status(process).get("SigIgn", "0"), 16) & _IGNORES_CHILDREN)


def _proportional_bytes(process: int) -> int:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))
