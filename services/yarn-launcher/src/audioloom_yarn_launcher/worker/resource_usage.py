"""The usage of memory and GPUs by a worker's program while it runs.

    usage/<rank>.<attempt>.json    the newest sample, and the highest memory so far

Memory counts the program and its children, with shared pages counted once (PSS). A sample every few
seconds can miss a short peak. A failure here only leaves a number out of a page.
"""

import json
import os
import shutil
import subprocess
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from audioloom_storage import Location, NotFound, StorageError, publish, read_bytes, remove

from audioloom_yarn_launcher.runs.layout import now
from audioloom_yarn_launcher.system.processes import tree

FIRST_S, EVERY_S = 1.0, 5.0
ASK_WITHIN_S = 5.0
MOST_BYTES = 1 << 16
MIB = 1 << 20
_AT_ONCE = 3  # samples; later fewer, because some storage can only replace whole files
_PROC = Path("/proc")
_SMI = "nvidia-smi"


class UsageRecorder:
    """A thread that records the usage of a program and its children until it is closed."""

    def __init__(
        self, folder: Location, rank: int, attempt: int, pid: int, log_url: str = ""
    ) -> None:
        self._folder, self._where, self._pid = folder, _location(folder, rank, attempt), pid
        self._head: dict[str, Any] = {
            "version": "1.0",
            "kind": "usage",
            "rank": rank,
            "attempt": attempt,
            "memory_limit_bytes": container_limit_bytes(),
            "log_url": log_url or None,
        }
        self._most, self._published, self.samples = 0, 0, 0
        self._over = threading.Event()
        # No daemon: a process that ends while such a thread is in native code may abort.
        threading.Thread(target=self._work, name="usage").start()

    def close(self) -> None:
        """Stop the thread, without a wait for an unfinished record."""
        self._over.set()

    def _work(self) -> None:
        wait = FIRST_S
        while not self._over.wait(wait):
            wait = EVERY_S
            pids = tree(self._pid)
            memory = sum(map(memory_bytes, pids))
            if not memory:
                continue  # it has just ended
            self._most = max(self._most, memory)
            if self.samples < _AT_ONCE or self.samples % 2 == 0:
                self._publish(memory, pids)
            self.samples += 1
        if self._most > self._published:
            self._publish(0, [])

    def _publish(self, memory: int, pids: list[int]) -> None:
        record = {
            **self._head,
            "time": now(),
            "memory_bytes": memory,
            "peak_memory_bytes": self._most,
            "processes": len(pids),
            "gpus": gpus(pids) if pids else [],
        }
        with suppress(StorageError, OSError):
            with suppress(NotFound):
                remove(self._where, within=self._folder)
            publish(self._where, json.dumps(record).encode() + b"\n")
            self._published = self._most


def read_usage(folder: Location, rank: int, attempt: int) -> dict[str, Any]:
    """Read the newest record; {} if there is none, or while it is replaced."""
    with suppress(StorageError, ValueError):
        found = json.loads(read_bytes(_location(folder, rank, attempt), limit=MOST_BYTES))
        if isinstance(found, dict):
            return found
    return {}


def container_limit_bytes() -> int | None:
    """Return the memory of this process's container, from skein's variable; None without one."""
    told = os.environ.get("SKEIN_RESOURCE_MEMORY", "")
    return int(told) * MIB if told.isdecimal() else None


def memory_bytes(pid: int) -> int:
    """Return the memory (PSS, with its share of shared pages) of a process; 0 if it is gone."""
    try:
        lines = (_PROC / str(pid) / "smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))


def gpus(pids: list[int]) -> list[dict[str, float]]:
    """Return the GPUs that these processes use; [] without `nvidia-smi`.

    `busy` is the share of the time in which it worked, 0 to 1; `memory_bytes` counts all programs.
    """
    if shutil.which(_SMI) is None:
        return []
    used = {uuid for pid, uuid in _asked("compute-apps=pid,gpu_uuid") if int(pid) in pids}
    if not used:
        return []
    rows = _asked("gpu=index,uuid,utilization.gpu,memory.used,memory.total")
    return [
        {
            "index": int(index),
            "busy": _number(busy) / 100,
            "memory_bytes": _number(memory) * MIB,
            "memory_total_bytes": _number(total) * MIB,
        }
        for index, uuid, busy, memory, total in rows
        if uuid in used
    ]


def _location(folder: Location, rank: int, attempt: int) -> Location:
    return folder / f"usage/{rank}.{attempt}.json"


def _asked(what: str) -> list[list[str]]:
    command = [_SMI, f"--query-{what}", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=ASK_WITHIN_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    rows = [[cell.strip() for cell in line.split(",")] for line in done.stdout.splitlines()]
    width = what.count(",") + 1
    return [row for row in rows if len(row) == width and row[0].isdecimal()]


def _number(cell: str) -> int:
    return int(cell) if cell.isdecimal() else 0  # "[N/A]" from a GPU without the value
