"""Which process a record speaks of, so that it can be asked whether that process still lives.

No clock is trusted and no time-out guessed: a process is the same one if machine, boot, process
namespace, number and start time are the same, and only the kernel that runs it is asked.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path

from pydantic import BaseModel, ConfigDict

_PROC = Path("/proc")
_START_TIME = 19  # field 22 of /proc/<pid>/stat, counted after the name, which may hold anything
_DEAD = ("Z", "X", "x")


class Owner(BaseModel):
    """A process, so described that no other is ever taken for it."""

    model_config = ConfigDict(frozen=True)

    host: str
    pid: int
    boot: str
    namespace: int
    start_ticks: int

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


def this_process() -> Owner:
    """The process that asks."""
    return Owner(
        host=socket.gethostname(),
        pid=os.getpid(),
        boot=_boot(),
        namespace=_namespace(),
        start_ticks=_start_ticks(os.getpid()) or 0,
    )


def is_alive(owner: Owner) -> bool | None:
    """Whether the process lives; None if that cannot be told from here."""
    if owner.boot != _boot() or owner.namespace != _namespace() or not owner.boot:
        return None
    return _start_ticks(owner.pid) == owner.start_ticks


def _boot() -> str:
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _namespace() -> int:
    try:
        return (_PROC / "self/ns/pid").stat().st_ino
    except OSError:
        return 0


def _start_ticks(pid: int) -> int | None:
    try:
        fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in _DEAD else int(fields[_START_TIME])
