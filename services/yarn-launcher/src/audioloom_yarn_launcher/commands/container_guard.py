"""What YARN starts in a container: it starts the worker, outlives it, and clears up after it.

A node that ends a container sends SIGTERM and, a quarter of a second later, SIGKILL: too soon for a
worker to find what its command has left behind. The worker is in a session of its own, where that
SIGKILL does not reach it: it hears of the guard's death, and takes the time it needs. And when the
worker itself is killed, the guard is there to sweep.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence

from audioloom_yarn_launcher.system import processes

STDERR = 2


def guard(words: Sequence[str], launch: str) -> int:
    """Run the worker that the words ask for; its exit code, as a shell gives it.

    Args:
        words: of the command line of the worker.
        launch: the first part of the marker that all carries which the worker runs.
    """
    program = [sys.executable, "-I", "-m", "audioloom_yarn_launcher", "worker", *words, "--guarded"]
    worker = processes.start(
        program, environment=os.environ, output=STDERR, when_orphaned=signal.SIGTERM
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: _tell(worker))
    code = worker.wait()
    processes.sweep(f"{launch}/{os.environ['CONTAINER_ID']}/")
    return code if code >= 0 else 128 - code


def _tell(worker: subprocess.Popen[bytes]) -> None:
    worker.terminate()
    worker.send_signal(signal.SIGCONT)  # one that is frozen would not hear
