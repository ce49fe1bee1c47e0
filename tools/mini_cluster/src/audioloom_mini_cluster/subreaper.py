"""No process outlives the command, whatever ends it.

Containers leave their session and their parent, so neither process groups nor parents find them.
Two processes watch each other instead, and Linux hands each the orphans below it ("subreaper",
prctl(2)): the outer one kills all that is left once the inner one has ended, and the inner one,
which runs the cluster, is told when the outer one dies.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import FrameType

_SET_DEATH_SIGNAL, _SET_SUBREAPER = 1, 36
_LIBC = ctypes.CDLL(None, use_errno=True)


def keep(run: Callable[[], int]) -> int:
    """Run in a child process; return its exit status once nothing below it is left."""
    _prctl(_SET_SUBREAPER, 1)
    outer = os.getpid()
    sys.stdout.flush()
    sys.stderr.flush()
    inner = os.fork()
    if not inner:
        os._exit(_run_inner(run, outer))

    def forward(number: int, frame: FrameType | None) -> None:
        del frame
        with suppress(ProcessLookupError):
            os.kill(inner, number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, forward)
    _, status = os.waitpid(inner, 0)
    end_descendants()
    return os.waitstatus_to_exitcode(status) % 256


def _run_inner(run: Callable[[], int], outer: int) -> int:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)
    code = 70
    try:
        _prctl(_SET_SUBREAPER, 1)
        die_with_parent(signal.SIGTERM)
        if os.getppid() == outer:  # else it died before it could be told
            code = run()
    except KeyboardInterrupt:
        code = 130
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:  # noqa: BLE001 - nothing may go up into the outer process's code
        sys.excepthook(*sys.exc_info())
    finally:
        with suppress(KeyboardInterrupt):
            end_descendants()
        sys.stdout.flush()
        sys.stderr.flush()
    return code


def _stop(number: int, frame: FrameType | None) -> None:
    del frame
    raise SystemExit(128 + number)


def die_with_parent(number: int = signal.SIGKILL) -> None:
    """Have Linux send this signal to this process when its parent ends."""
    _prctl(_SET_DEATH_SIGNAL, number)


def end_descendants() -> None:
    """Kill all that is below this process, and what comes to it as its parents die."""
    while below := set(_below(os.getpid())):
        for process in below:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(0.02)


def _below(process: int) -> Iterator[int]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(FileNotFoundError, ProcessLookupError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    waiting = [process]
    while waiting:
        found = children.get(waiting.pop(), [])
        yield from found
        waiting += found


def _prctl(option: int, value: int) -> None:
    if _LIBC.prctl(option, value, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")
