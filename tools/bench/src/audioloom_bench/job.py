"""A whole job on 2,000 real recordings: from a folder to features in Parquet.

On one core and on two, all that comes after the start of the Spark session: the listing, the start
of the Python workers, their imports, what is written, the commit. Each job is a process of its own
with a session of its own, for workers that have done the job before have all imported; the clock is
the one on the wall.

Of two cores only what is done in parallel makes use. The efficiency is the share of twice the speed
of one core that two reach; that of the floor is what the machine itself gives.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from audioloom_voices.debian.fetch import default_cache
from audioloom_voices.debian.lay_out import lay_out

from audioloom_bench import job_lanes
from audioloom_bench.measure import FLOOR, NAIVE, Lane, measure

RECORDINGS = 2000
LANGUAGES = ("en", "fr", "it", "ru")
OURS = "audioloom"
CORES = (1, 2)
MOST_ROUNDS = 3
"""A round takes two minutes."""
LEAST = 3.0
"""Times the naive job that ours is to be on two cores; less is a failure."""

Job = Callable[[Path, Path, int], float]
JOBS: dict[str, Job] = {NAIVE: job_lanes.naive, OURS: job_lanes.ours, FLOOR: job_lanes.floor}
EFFICIENCY = "two cores against twice one"


def bench(rounds: int) -> list[Lane]:
    """Every lane on one core and on two."""
    rounds = min(rounds, MOST_ROUNDS)
    lanes: list[Lane] = []
    with tempfile.TemporaryDirectory(prefix="audioloom-bench-") as scratch:
        source = Path(scratch, "recordings")
        lay_out(source, cache=default_cache(), languages=LANGUAGES)
        for path in sorted(source.rglob("*.wav"))[RECORDINGS:]:
            path.unlink()
        for cores in CORES:
            spent = _Spent()
            work = {name: partial(spent.on, job, source, cores) for name, job in JOBS.items()}
            lanes += measure(
                work,
                amount=RECORDINGS,
                unit="recordings / s",
                input_name=input_name(cores),
                rounds=rounds,
                clock=lambda spent=spent: spent.seconds,  # type: ignore[misc]
            )
    return lanes + efficiencies(lanes)


class _Spent:
    """Seconds that jobs say they took; the clock of this benchmark."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def on(self, job: Job, source: Path, cores: int) -> None:
        """Do a job in a new process."""
        with (
            tempfile.TemporaryDirectory(dir=source.parent) as out,
            ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process,
        ):
            self.seconds += process.submit(job, source, Path(out), cores).result()


def input_name(cores: int) -> str:
    """Name the input of a lane on so many cores."""
    return f"{RECORDINGS:,} telephone prompts, {cores} core{'s' * (cores > 1)}"


def efficiencies(lanes: Sequence[Lane]) -> list[Lane]:
    """Of each lane, how much of a second core came to use."""
    one, two = (
        {lane.lane: lane.value for lane in lanes if lane.input == input_name(cores)}
        for cores in CORES
    )
    shares = {name: 100 * two[name] / (2 * one[name]) for name in one}
    return [
        Lane(name, EFFICIENCY, share, "%", share / shares[NAIVE], share / shares[FLOOR])
        for name, share in shares.items()
    ]


def shortfall(lanes: Sequence[Lane]) -> str | None:
    """What is too slow, if it is."""
    slow = [
        f"{lane.input}: {lane.vs_naive:.2f} times the naive job, expected at least {LEAST:g}"
        for lane in lanes
        if lane.lane == OURS and lane.input == input_name(2) and lane.vs_naive < LEAST
    ]
    return "\n".join(slow) or None
