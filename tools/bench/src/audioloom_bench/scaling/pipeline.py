"""Real runs of small recordings on local disk: each command in a fresh process, its calls counted.

The exponent of growth is the slope of a line through the logarithms: 1 is in proportion, and what a
command takes for any set lowers it.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile
from audioloom_storage_testing import CountingStore

from audioloom_bench.measure import Lane
from audioloom_bench.process_tree import Watch, watched

SIZES = (10_000, 100_000, 300_000)
MOST_EXPONENT = 1.05
IN_FOLDER, IN_GROUP, DIFFERENT, RATE, SECONDS = 1000, 2, 20, 8000, 0.3
"""Recordings of a folder and of a speaker, those with a content of their own, their rate in Hz,
their length."""
MASTER = "local[2]"
PATTERN = "(?P<label>[^/]+)/[^/]+/(?P<group>[^-]+)-.*"
TIME, CALLS = "time", "calls of a NameNode"
_HOOK = "from audioloom_storage_testing import install_from_environment as i\ni()\n"


@dataclass(frozen=True)
class Taken:
    """What one command took for a number of recordings; memory in MB, at most."""

    command: str
    recordings: int
    seconds: float
    driver: float
    worker: float
    """Of its largest other Python process."""
    calls: int


def lanes(sizes: Sequence[int]) -> list[Lane]:
    """What each command takes at each size, a recording, and the exponents of growth."""
    found: list[Taken] = []
    for size in sizes:
        print(f"running the pipeline of {size:,} recordings", file=sys.stderr)
        with tempfile.TemporaryDirectory(prefix="audioloom-bench-") as folder:
            found += taken(size, Path(folder))
    return [*_figures(found), *_exponents(found)]


def taken(recordings: int, folder: Path) -> Iterator[Taken]:
    """Run the pipeline of so many recordings in an empty folder."""
    source, root, hook = folder / "source", folder / "root", folder / "hook"
    make_recordings(source, recordings)
    hook.mkdir()
    (hook / "sitecustomize.py").write_text(_HOOK)
    spark = f"--master={MASTER}"
    commands = {
        "scan": ("featurizer", "scan", str(source), f"--root={root}", f"--pattern={PATTERN}"),
        "run": ("featurizer", "run", "{scan}", f"--window-seconds={SECONDS}", spark),
        "shard": ("sharder", "run", "{run}", spark),
        "verify features": ("featurizer", "verify", "{run}"),
        "verify shards": ("sharder", "verify", "{shard}", spark),
    }
    made: dict[str, str] = {}
    for name, (stage, *words) in commands.items():
        store = CountingStore(folder / f"calls of {name}")
        program = [sys.executable, "-m", f"audioloom_{stage}"]
        begin = time.monotonic()
        out, watch = _run([*program, *(word.format(**made) for word in words)], hook, store)
        seconds = time.monotonic() - begin
        made[name] = out.strip()
        yield Taken(name, recordings, seconds, *_peaks(watch), store.calls.total())


def make_recordings(source: Path, count: int, seconds: float = SECONDS) -> None:
    """Noise of some seconds; equal contents are links to one file, which is quick."""
    contents = source.parent / f"contents of {source.name}"
    contents.mkdir()
    for number in range(DIFFERENT):
        samples = np.random.default_rng(number).normal(0, 0.1, round(RATE * seconds))
        soundfile.write(contents / f"{number}.wav", samples, RATE)
    for number in range(count):
        place = source / f"campaign-{number % 7}" / f"{number // IN_FOLDER:05}"
        place.mkdir(parents=True, exist_ok=True)
        recording = place / f"s{number // IN_GROUP}-{number}.wav"
        recording.hardlink_to(contents / f"{number % DIFFERENT}.wav")


def _run(command: Sequence[str], hook: Path, store: CountingStore) -> tuple[str, Watch]:
    paths = os.pathsep.join([str(hook), *filter(None, sys.path)])
    variables = {**os.environ, "PYTHONPATH": paths, **store.environment()}
    with (
        subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, text=True) as process,
        watched(process.pid) as watch,
    ):
        out, _ = process.communicate()
    if process.returncode:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}")
    return out, watch


def _peaks(watch: Watch) -> tuple[float, float]:
    """The most memory of the driver, and of the largest other Python process."""
    held = [peak for (_, name), peak in watch.peaks.items() if name != "java"]
    return held[0], max(held[1:], default=0.0)


def _figures(found: Sequence[Taken]) -> Iterator[Lane]:
    for each in found:
        named = f"{each.recordings:,} recordings"
        for what, value, unit in (
            (TIME, each.seconds, "s"),
            ("memory of the driver", each.driver, "MB"),
            ("memory of a worker", each.worker, "MB"),
            (CALLS, each.calls / each.recordings, "a recording"),
        ):
            yield Lane(each.command, f"{named}, {what}", value, unit, math.nan, math.nan)


def _exponents(found: Sequence[Taken]) -> Iterator[Lane]:
    for command in dict.fromkeys(each.command for each in found):
        mine = [each for each in found if each.command == command]
        sizes = [each.recordings for each in mine]
        amounts: Mapping[str, Sequence[float]] = {
            TIME: [each.seconds for each in mine],
            CALLS: [each.calls for each in mine],
        }
        if len(mine) > 1:
            for what, values in amounts.items():
                value = exponent(sizes, values)
                yield Lane(command, f"growth, {what}", value, "exponent", math.nan, math.nan)


def exponent(sizes: Sequence[int], values: Sequence[float]) -> float:
    """The slope of a line through the logarithms of both."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def shortfall(lanes: Sequence[Lane]) -> list[str]:
    """Name each command that takes more than in proportion."""
    return [
        f"{lane.lane}, {lane.input}: exponent {lane.value:.3f}, expected at most {MOST_EXPONENT}"
        for lane in lanes
        if lane.unit == "exponent" and lane.value > MOST_EXPONENT
    ]
