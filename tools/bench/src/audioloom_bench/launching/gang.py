"""How long after the last of many local workers has started the gang is complete.

Each is a process of its own, and runs a shell. On a machine with few cores the workers' own start
is most of the time in which the gang forms.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from audioloom_bench.measure import Lane
from audioloom_bench.process_tree import STARTED, stat_fields
from audioloom_bench.training.figures import single

SIZE = 64
MOST_S = 10.0
WITHIN_S = 300.0
AFTER_LAST, WHOLE = f"{SIZE} workers meet, after the last start", f"{SIZE} workers meet, whole"


def lanes(programs: Mapping[str, Path], rounds: int) -> list[Lane]:
    """The worst of the rounds."""
    found = [_meet(programs["yarn-launcher"]) for _ in range(rounds)]
    after, whole = (max(each) for each in zip(*found, strict=True))
    return [single(AFTER_LAST, after, "s"), single(WHOLE, whole, "s")]


def shortfall(lanes: Sequence[Lane]) -> list[str]:
    """Whether it takes too long."""
    return [
        f"{AFTER_LAST}: {lane.value:.1f} s, expected at most {MOST_S:g} s"
        for lane in lanes
        if lane.input == AFTER_LAST and lane.value > MOST_S
    ]


def _meet(program: Path) -> tuple[float, float]:
    """Seconds to the complete gang, from the start of the last worker and of the launcher."""
    with tempfile.TemporaryDirectory(prefix="audioloom-bench-") as folder:
        go, run = Path(folder, "go"), Path(folder, "runs", "gang")
        command = ["sh", "-c", f"while [ ! -e {go} ]; do sleep 0.5; done"]
        words = [str(program), "run", f"--workers={SIZE}", f"--root={folder}", "--name=gang"]
        options = [f"--timeout-registration={WITHIN_S:g}", "--", *command]
        begin = time.time()
        with subprocess.Popen([*words, *options], stdout=subprocess.DEVNULL) as launcher:
            record = run / "attempts/1.members.json"
            while not record.exists():
                if launcher.poll() is not None or time.time() > begin + WITHIN_S:
                    raise RuntimeError(f"the gang did not meet, exit code {launcher.poll()}")
                time.sleep(0.05)
            said = json.loads(record.read_text())
            formed = datetime.fromisoformat(said["formed"]).timestamp()
            last = max(started_at(each["worker_pid"]) for each in said["workers"])
            go.touch()
        if launcher.returncode:
            raise RuntimeError(f"the gang ended with exit code {launcher.returncode}")
    return formed - last, formed - begin


def started_at(pid: int) -> float:
    """When a process was started, by the clock on the wall: proc(5), starttime."""
    ticks = int(stat_fields(pid)[STARTED])
    since_boot = ticks / os.sysconf("SC_CLK_TCK")
    return time.time() - (time.clock_gettime(time.CLOCK_BOOTTIME) - since_boot)
