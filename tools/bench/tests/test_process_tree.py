"""Time and memory of a process with all that it has started."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from audioloom_bench.process_tree import _TICKS, watched

SPIN = "import time\nwhile time.process_time() < 0.4: pass\n"
UNTIL_SEEN = "import sys; sys.stdin.readline()"


@contextmanager
def waiting(work: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that has done some work, and waits."""
    words = [sys.executable, "-c", f"{work}\nprint(1, flush=True); import sys; sys.stdin.read()"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield process
        process.communicate()


def answered(process: subprocess.Popen[bytes]) -> bool:
    """Whether it has done its work."""
    assert process.stdout is not None
    return process.stdout.readline() == b"1\n"


def go_on(process: subprocess.Popen[bytes], seen: Callable[[], bool]) -> None:
    """Let it go on, once the watch has seen what it is to remember."""
    end = time.monotonic() + 60
    while not seen():
        assert time.monotonic() < end
        time.sleep(0.01)
    assert process.stdin is not None
    process.stdin.write(b"\n")
    process.stdin.flush()


def running(child: str) -> str:
    """Work that is done by a child."""
    return f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"


def test_time_of_children_counts_also_when_they_have_ended() -> None:
    """The kernel tells their parent, which has waited for them."""
    with waiting(running(SPIN)) as process, watched(process.pid) as watch:
        assert answered(process)
        assert 0.3 <= watch.cpu_seconds()


def test_time_of_children_counts_also_when_nobody_waits_for_them() -> None:
    """The kernel forgets them at once; of them counts what was seen."""
    deaf = "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)"
    work = f"{deaf}\n{running(SPIN + UNTIL_SEEN)}"
    with waiting(work) as process, watched(process.pid) as watch:
        go_on(process, lambda: sum(watch.unwaited.values()) >= 0.3 * _TICKS)
        assert answered(process)
        assert 0.3 <= watch.cpu_seconds()


def test_memory_is_the_most_that_was_held() -> None:
    """Also of what was given back since."""
    work = f"data = b'1' * (64 << 20)\n{UNTIL_SEEN}\ndel data"
    with waiting(work) as process, watched(process.pid) as watch:
        go_on(process, lambda: watch.megabytes > 64)
        assert answered(process)
        assert 64 < watch.megabytes < 256
