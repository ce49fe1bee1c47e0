"""One cluster for several test programs: the first that needs a cluster starts it.

The owner (`noxfile.py`) makes a folder with a FIFO `input` and holds the FIFO's only write end. The
cluster reads the FIFO as its standard input, so it ends when its owner ends, however that happens.
Its line of JSON goes to the file `line`.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from pathlib import Path
from typing import Any

from audioloom_mini_cluster.errors import NotReady


def description(place: Path, python: str) -> dict[str, Any]:
    """The line of JSON of a shared cluster, which is started if it does not run.

    Args:
        place: a file with the line, or the folder that the owner has made.
        python: the interpreter that runs the cluster.

    Raises:
        NotReady: the cluster ended before it was ready; its reason is on stderr.
    """
    if place.is_file():
        return dict(json.loads(place.read_text()))
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = _line(place)
        if found is None or not _lives(found["process"]):
            found = _started(place, python)
    return found


def _line(place: Path) -> dict[str, Any] | None:
    try:
        text = (place / "line").read_text()
    except FileNotFoundError:
        return None
    return dict(json.loads(text)) if text.endswith("\n") else None


def _lives(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes() != b""  # of a zombie it is empty
    except OSError:
        return False


def _started(place: Path, python: str) -> dict[str, Any]:
    """Start the cluster as a process that outlives this one."""
    output = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    process = os.posix_spawn(
        python,
        [python, "-m", "audioloom_mini_cluster"],
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, str(place / "input"), os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(place / "line"), output, 0o600),
        ],
        setsid=True,  # Ctrl-C is for the tests and for the owner
    )
    while not (found := _line(place)):
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            raise NotReady(f"the mini-cluster ended with exit code {code}; why is above")
        time.sleep(0.1)
    return found
