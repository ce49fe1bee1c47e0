"""Time and memory of a process with all that it has started."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from audioloom_bench.process_tree import watched

SPIN = "import time\nwhile time.process_time() < 0.3: pass\n"
ONCE_MORE_SEEN = "import time; time.sleep(1.5)"
"""Longer than between two looks at it."""


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


@pytest.mark.parametrize(
    ("first", "child"),
    [
        pytest.param("", SPIN, id="its parent has waited for it"),
        pytest.param(
            "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)",
            SPIN + ONCE_MORE_SEEN,
            id="nobody waits for it",
        ),
    ],
)
def test_time_of_children_counts_also_when_they_have_ended(first: str, child: str) -> None:
    """Whether the kernel tells their parent, or forgets them at once."""
    work = f"{first}\nimport subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    with waiting(work) as process, watched(process.pid) as watch:
        assert answered(process)
        assert 0.3 <= watch.cpu_seconds()


def test_memory_is_the_most_that_was_held() -> None:
    """Also of what was given back since."""
    work = f"data = b'1' * (64 << 20)\n{ONCE_MORE_SEEN}\ndel data"
    with waiting(work) as process, watched(process.pid) as watch:
        assert answered(process)
        assert 64 < watch.megabytes < 256
