"""The guard of a container: it starts the worker, outlives it, and kills what it left behind.

A node that ends a container sends SIGTERM and, a quarter of a second later, SIGKILL: too early for
a worker to find the processes that its command left behind. The worker has a session of its own,
which that SIGKILL does not reach: it notices the guard's death, and takes the time it needs. If the
worker itself is killed, the guard kills the rest.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence

from audioloom_yarn_launcher.system import processes

STDERR = 2


def guard(words: Sequence[str], launch: str) -> int:
    """Run the worker with the given command line; return its exit code as a shell does.

    *launch* is the first part of the marker of all that the worker runs.
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
    worker.send_signal(signal.SIGCONT)  # a stopped worker would not act on SIGTERM
