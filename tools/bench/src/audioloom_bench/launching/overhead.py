"""What it costs to begin through the launcher, beside raw containers that do the same.

Two workers in containers of a mini-cluster import TensorFlow, make a strategy for several workers
and do one step together. The floor is skein alone: two containers that are told by hand who they
are, at addresses that the benchmark has chosen; Java's start, YARN's, TensorFlow's import and the
step's compilation are in both. So the difference is the launcher's: its own environment brought to
the nodes (shipped before), a coordinator, a rendezvous, records in HDFS, guards and logs.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from audioloom_mini_cluster.client import Running, running

from audioloom_bench.measure import FLOOR, Lane
from audioloom_bench.training.figures import OURS, figures, single

HERE = Path(__file__).parent
MOST_S = 5.0
WORKERS, MEMORY_MB = 2, 2048
WITHIN_S = 300.0
FIRST_STEP, OVERHEAD = "from the command to the first step", "the launcher's own part of it"


def lanes(programs: Mapping[str, Path], rounds: int) -> list[Lane]:
    """Both ways in turn, after one round that ships what is shipped once."""
    found: dict[str, list[float]] = {FLOOR: [], OURS: []}
    with (
        running() as cluster,
        tempfile.TemporaryDirectory(prefix="audioloom-bench-") as folder,
    ):
        for number in range(rounds + 1):
            for name in [*found][:: -1 if number % 2 else 1]:
                notes = Path(folder, f"{name}-{number}")
                notes.mkdir()
                seconds = _first_step(_words(name, programs, cluster, notes), cluster, notes)
                if number:
                    found[name].append(seconds)
    overhead = statistics.median(a - b for a, b in zip(found[OURS], found[FLOOR], strict=True))
    return [*figures(found, FIRST_STEP, "s"), single(OVERHEAD, overhead, "s")]


def shortfall(lanes: Sequence[Lane]) -> list[str]:
    """Whether the launcher takes too long."""
    return [
        f"{OVERHEAD}: {lane.value:.1f} s, expected at most {MOST_S:g} s"
        for lane in lanes
        if lane.input == OVERHEAD and lane.value > MOST_S
    ]


def _words(lane: str, programs: Mapping[str, Path], cluster: Running, notes: Path) -> list[str]:
    """The command of a lane."""
    launcher = programs["yarn-launcher"]
    tensorflow = programs["trainer"].with_name("python")
    step = [str(tensorflow), str(HERE / "step_together.py"), str(notes)]
    if lane == FLOOR:
        python = launcher.with_name("python")
        return [str(python), str(HERE / "raw_containers.py"), str(WORKERS), str(MEMORY_MB), *step]
    return [
        *(str(launcher), "run", "--on=yarn", f"--workers={WORKERS}", f"--memory={MEMORY_MB} MiB"),
        *(f"--root={cluster.hdfs}/bench", f"--name={notes.name}", "--", *step),
    ]


def _first_step(words: Sequence[str], cluster: Running, notes: Path) -> float:
    """Seconds until every worker has done the step."""
    begin = time.monotonic()
    variables = {**cluster.variables, "SKEIN_CONFIG": str(notes.parent / "skein")}
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(words, stdout=said, stderr=said, env=variables)
        try:
            while len(at := _done(notes)) < WORKERS:
                if time.monotonic() > begin + WITHIN_S:
                    said.seek(0)
                    raise RuntimeError(f"no step within {WITHIN_S:g} s:\n{said.read()[-3000:]}")
                time.sleep(0.02)
            (notes / "go").touch()
            process.wait(WITHIN_S)
        finally:
            process.kill()
            process.wait()
        while cluster.applications():
            time.sleep(0.2)
    return max(at) - begin


def _done(notes: Path) -> list[float]:
    """When each worker that has done the step did it, by the clock that all processes share."""
    found = []
    for path in notes.glob("*.json"):
        with suppress(ValueError):  # half written
            found.append(float(json.loads(path.read_text())))
    return found
