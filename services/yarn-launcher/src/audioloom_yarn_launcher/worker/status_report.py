"""The status of a worker's process, which the worker reports to the coordinator while it runs.

It holds the newest progress, which the process appends to a file of this machine, and the resources
that the process uses. The coordinator publishes the status of all workers together. A failure here
only leaves a number out of a page.
"""

import json
import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from audioloom_stage.redaction import redact

from audioloom_yarn_launcher.errors import StoreLost
from audioloom_yarn_launcher.rendezvous.status import WORDS, merged
from audioloom_yarn_launcher.runs.layout import now
from audioloom_yarn_launcher.system.files import nameless, text_of
from audioloom_yarn_launcher.system.processes import output_of, tree

PROGRESS = "AUDIOLOOM_RUN_PROGRESS"
"""The variable that names the file to which a process appends its progress."""
EVERY_S, REPORTS_A_SECOND = 1.0, 200
FIRST_SAMPLE_S, SAMPLE_EVERY_S = 1.0, 5.0
CHUNK_BYTES, MOST_LINE_BYTES = 1 << 20, 1 << 16
ASK_WITHIN_S = 5.0
MIB = 1 << 20
_PROC = Path("/proc")


class ProgressFeed:
    """A nameless file to which a process appends lines of its progress: JSON objects."""

    def __init__(self) -> None:
        self._descriptor = nameless()
        self._position, self._rest = 0, b""
        self._newest: dict[str, Any] = {}

    @property
    def path(self) -> str:
        """The path of the file, for processes of this user, while this process lives."""
        return f"/proc/{os.getpid()}/fd/{self._descriptor}"

    def close(self) -> None:
        """Remove the file."""
        os.close(self._descriptor)

    def newest(self) -> dict[str, Any]:
        """Read the new lines; return the newest value of each field."""
        while data := os.pread(self._descriptor, CHUNK_BYTES, self._position):
            self._position += len(data)
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                self._take(line)
            if len(self._rest) > MOST_LINE_BYTES:
                self._rest = b""  # whatever it is, it is no line of progress
        return self._newest

    def _take(self, line: bytes) -> None:
        with suppress(ValueError, RecursionError):
            value = json.loads(line)
            if isinstance(value, dict):
                said = {name: value[name] for name in WORDS if isinstance(value.get(name), str)}
                words = {name: redact(text) for name, text in said.items()}
                self._newest = merged(self._newest, value | words)


class StatusReport:
    """A thread that reports the status of a process and its children until it is closed.

    Memory counts shared pages once (PSS). A sample every few seconds can miss a short peak.

    Args:
        put: stores the status, as JSON.
        about: rank, attempt and generation of the process.
        size: number of processes that report: many report more seldom.
    """

    def __init__(
        self,
        put: Callable[[str], object],
        about: Mapping[str, int],
        pid: int,
        feed: ProgressFeed,
        size: int = 1,
        log_url: str = "",
    ) -> None:
        self._put, self._about, self._pid, self._feed = put, dict(about), pid, feed
        self._every = min(max(EVERY_S, size / REPORTS_A_SECOND), SAMPLE_EVERY_S)
        self._log_url, self._reported = log_url or None, ""
        self._usage: dict[str, Any] = {}
        self._one_at_a_time, self._over = threading.Lock(), threading.Event()
        # No daemon: a process that ends while such a thread is in native code may abort.
        threading.Thread(target=self._work, name="status").start()

    def close(self) -> None:
        """Report for the last time, without a wait for an unfinished sample."""
        self._over.set()
        with self._one_at_a_time:
            if self._usage:
                self._usage |= {"memory_bytes": 0, "processes": 0, "gpus": []}
            self._report()

    def _work(self) -> None:
        due = time.monotonic() + FIRST_SAMPLE_S
        while not self._over.wait(self._every):
            usage = self._usage
            if time.monotonic() >= due:
                due = time.monotonic() + SAMPLE_EVERY_S
                usage = self._sample()
            with self._one_at_a_time:
                if not self._over.is_set():
                    self._usage = usage
                    self._report()

    def _sample(self) -> dict[str, Any]:
        pids = tree(self._pid)
        memory = sum(map(memory_bytes, pids))
        if not memory:  # it has just ended
            return self._usage
        return {
            "time": now(),
            "memory_bytes": memory,
            "peak_memory_bytes": max(memory, self._usage.get("peak_memory_bytes", 0)),
            "memory_limit_bytes": container_limit_bytes(),
            "processes": len(pids),
            "gpus": gpus(pids),
            "log_url": self._log_url,
        }

    def _report(self) -> None:
        status = {**self._feed.newest(), **({"usage": self._usage} if self._usage else {})}
        text = json.dumps(status | self._about, ensure_ascii=False)
        if status and text != self._reported:
            with suppress(StoreLost):  # the worker's own calls fail too
                self._put(text)
            self._reported = text


def container_limit_bytes() -> int | None:
    """Return the memory of this process's container, from skein's variable; None without one."""
    told = os.environ.get("SKEIN_RESOURCE_MEMORY", "")
    return int(told) * MIB if told.isdecimal() else None


def memory_bytes(pid: int) -> int:
    """Return the memory (PSS, with its share of shared pages) of a process; 0 if it is gone."""
    lines = text_of(_PROC / str(pid) / "smaps_rollup").splitlines()
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))


def gpus(pids: list[int]) -> list[dict[str, float]]:
    """Return the GPUs that these processes use; [] without `nvidia-smi`.

    `busy` is the share of the time in which it worked, 0 to 1; `memory_bytes` counts all programs.
    """
    used = {uuid for pid, uuid in ask_gpus("compute-apps=pid,gpu_uuid") if int(pid) in pids}
    if not used:
        return []
    rows = ask_gpus("gpu=index,uuid,utilization.gpu,memory.used,memory.total")
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


def ask_gpus(what: str) -> list[list[str]]:
    """Return the answer of `nvidia-smi` to a query, by row; the first cell is a number."""
    said = output_of(
        "nvidia-smi", f"--query-{what}", "--format=csv,noheader,nounits", within_s=ASK_WITHIN_S
    )
    rows = [[cell.strip() for cell in line.split(",")] for line in said.splitlines()]
    width = what.count(",") + 1
    return [row for row in rows if len(row) == width and row[0].isdecimal()]


def _number(cell: str) -> int:
    return int(cell) if cell.isdecimal() else 0  # "[N/A]" from a GPU without the value
