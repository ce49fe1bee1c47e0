"""Whatever ends the command, nothing below it is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

# A process in a session of its own whose parent has ended: what a container of a dead node is.
PROGRAM = """
import os, subprocess, sys, time
from audioloom_mini_cluster.subreaper import keep

def run():
    subprocess.run(["sh", "-c", "setsid sleep 300 & echo $! > " + sys.argv[1]])
    subprocess.Popen(["sleep", "300"])
    open(sys.argv[1] + ".inner", "w").write(str(os.getpid()))
    if sys.argv[2] == "end":
        return 7
    time.sleep(300)

raise SystemExit(keep(run))
"""


def begun(tmp_path: Path, what: str) -> tuple[subprocess.Popen[bytes], list[int]]:
    note = tmp_path / "note"
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, str(note), what])
    inner = note.with_name("note.inner")
    while not (inner.exists() and inner.read_text() and note.read_text().strip()):
        time.sleep(0.01)
    return process, [int(note.read_text()), int(inner.read_text())]


def alive(process: int) -> bool:
    """Whether it runs; it may end, and be reaped, at any moment."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def wait_for_end(processes: list[int]) -> list[int]:
    """Those that are still there after a minute."""
    for _ in range(3000):
        if not any(map(alive, processes)):
            return []
        time.sleep(0.02)
    return [each for each in processes if alive(each)]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("victim", ["outer", "inner"])
def test_a_signal_to_either_process_ends_all(
    tmp_path: Path, number: signal.Signals, victim: str
) -> None:
    """Also the one that has left its session and its parent."""
    process, below = begun(tmp_path, "wait")
    os.kill(process.pid if victim == "outer" else below[1], number)
    process.wait(timeout=120)
    assert [] == wait_for_end(below)


def test_the_status_is_that_of_the_work(tmp_path: Path) -> None:
    """And the orphan is gone too when the work ends by itself."""
    process, below = begun(tmp_path, "end")
    assert 7 == process.wait(timeout=120)
    assert [] == wait_for_end(below)
