"""Processes that cannot outlive their parent, nor can their descendants.

There are three safety nets. A process leads its own group, which is killed as a whole. The kernel
kills the process (but not its children) when its parent dies. All descendants carry a marker in
their environment, which finds those that left the group (Linux only).
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from audioloom_yarn_launcher.system import die_with_parent
from audioloom_yarn_launcher.system.files import text_of

MARKER = "AUDIOLOOM_RUN_MARKER"
MOST_SWEEPS = 50
_PROC = Path("/proc")


def start(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    output: int,
    when_orphaned: signal.Signals = signal.SIGKILL,
    pass_fds: Sequence[int] = (),
    ended: Callable[[], None] | None = None,
) -> subprocess.Popen[bytes]:
    """Start a command in its own process group, without standard input.

    Call this from a thread that lives as long as the process may: the kernel takes the end of the
    calling thread for the parent's death, of which it tells by the signal *when_orphaned*. A
    program that cannot be run ends with 126 or 127. A thread calls *ended* when it has ended.
    """
    guard = [sys.executable, "-I", "-S", die_with_parent.__file__]
    parent = [str(int(when_orphaned)), str(os.getpid())]
    process = subprocess.Popen(
        [*guard, *parent, *command],
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        start_new_session=True,
        pass_fds=pass_fds,
    )
    if ended is not None:
        threading.Thread(target=_wait, args=(process, ended), daemon=True).start()
    return process


def _wait(process: subprocess.Popen[bytes], ended: Callable[[], None]) -> None:
    process.wait()
    ended()


def end(process: subprocess.Popen[bytes], *, marker: str, grace_s: float = 0) -> None:
    """End a process from `start` and all its descendants, which carry *marker*, and reap it.

    It has *grace_s* seconds from SIGTERM to SIGKILL.
    """
    if grace_s > 0 and _signal_group(process, signal.SIGTERM):
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(grace_s)
    family = marked(marker)
    _signal_group(process, signal.SIGKILL)
    process.wait()
    sweep(marker, family)


def tree(root: int) -> list[int]:
    """Return a process and its living descendants."""
    found = [root]
    for pid in found:  # the loop appends to it
        with contextlib.suppress(OSError):  # the process ended
            for path in (_PROC / str(pid) / "task").glob("*/children"):
                found += map(int, text_of(path).split())
    return found


def stat_fields(pid: int) -> list[str]:
    """Return the fields of /proc/<pid>/stat from the process's state on; [] if it is gone."""
    # The name before the bracket may hold spaces.
    return text_of(_PROC / str(pid) / "stat").rpartition(")")[2].split()


def is_stopped(pid: int) -> bool:
    """Return whether a signal (SIGSTOP) stopped the process or one of its descendants.

    It reads only the descendants, so it costs little on a machine with many processes.
    """
    return any(stat_fields(each)[:1] == ["T"] for each in tree(pid))


def sweep(marker: str, family: Sequence[int] = ()) -> list[int]:
    """Kill every process whose marker equals or begins with this one; return their ids.

    The *family* carried the marker earlier. A process that is exiting has no environment any more,
    and may still run for a while on a busy machine.
    """
    killed: list[int] = []
    for _ in range(MOST_SWEEPS):  # a killed process may have started another meanwhile
        found = marked(marker)
        states = (stat_fields(pid)[:1] for pid in (*family, *killed))
        if not found and all(state in ([], ["Z"], ["X"]) for state in states):
            break
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        killed += [pid for pid in found if pid not in killed]
        time.sleep(0.01)
    return killed


def marked(marker: str) -> list[int]:
    """Return the living processes whose marker equals or begins with this one."""
    wanted = f"{MARKER}={marker}".encode()
    found = []
    for entry in _PROC.glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it ended, or belongs to another user
            environment = (entry / "environ").read_bytes()
            if any(variable.startswith(wanted) for variable in environment.split(b"\0")):
                found.append(int(entry.name))
    return [pid for pid in found if pid != os.getpid()]


def output_of(*command: str, within_s: float, errors: bool = False) -> str:
    """Run a program; return its output, "" if it cannot be run or does not end in time.

    With *errors* its standard error counts too, and the reason why it gave no output.
    """
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", check=False, timeout=within_s
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error) if errors else ""
    return done.stdout + (done.stderr if errors else "")


def _signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> bool:
    if process.poll() is not None:
        return False  # reaped: the id may belong to another process now
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)
    return True
