"""Whole jobs from features to TFRecord shards: time of the processor and of the clock, and memory.

Each job is a tree of processes of its own: Python, Java, Java's Python workers. The processor time
is that of all of them, so the same work costs the same on one core and on two, and beside busy
neighbours. The clock also shows the waits for HDFS, which are longest where files have one replica.
Only a quiet machine gives its figures. Cold is all that a first job in fresh processes takes, from
their start to its end, the session's start included; warm is a second job of the same size in the
same session, and nothing is subtracted from it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from audioloom_mini_cluster.client import running
from audioloom_storage import Location, locate, make_folder, remove_tree, walk

from audioloom_bench.jvm_path import class_path
from audioloom_bench.made_features import SHAPE, made_features
from audioloom_bench.measure import FLOOR, NAIVE, Lane, paired
from audioloom_bench.process_tree import watched
from audioloom_bench.shard_lanes import DONE

ROWS, FILES, SHARDS = 20_000, 16, 32
GROWTH = (1, 2, 4, 8)
GROWTH_ROWS = 5_000
MANY_SHARDS = (32, 256, 2048)
MANY_SHARDS_ROWS = 10_000
MOST_ROUNDS = 5
"""A round takes a minute or two."""
OURS, JVM, SHUFFLED = "audioloom", "JVM path", "Spark shuffle"
NAMES = {NAIVE: "naive", JVM: "jvm_path", SHUFFLED: "shuffled", OURS: "ours", FLOOR: "floor"}
LEAST = 4.0
"""Times the naive job that ours is to be, warm; less is a failure, and so is less than the JVM."""
WARM, CLOCK = "warm", "warm, by the clock"
_MICRO = 1e6
_VALUE_BYTES = 4 * SHAPE[0] * SHAPE[1]
# Blocks are as large as clusters have them: a shard is one.
_CLUSTERS = {"hdfs": 2, "hdfs-1": 1}
_CLUSTER = ("--hdfs-only", "--block-mb=128")
# What quiets the other benchmarks is not what users have.
_NOT_FOR_JOBS = ("MALLOC_", "OMP_", "OPENBLAS_")


@dataclass(frozen=True)
class Taken:
    """What one run of a lane took: seconds of its first and second job, MiB at most."""

    cold: float
    """Processor seconds."""
    warm: float
    warm_clock: float
    memory: float


@dataclass(frozen=True)
class Place:
    """Where jobs read and write, and how it is called."""

    name: str
    folder: str


def declare(parser: argparse.ArgumentParser) -> None:
    """The options of this benchmark."""
    add = parser.add_argument
    storages = ("local", *_CLUSTERS)
    add(
        "--storage",
        nargs="+",
        choices=storages,
        default=["local"],
        help="hdfs has two nodes and two replicas, hdfs-1 one of each; default: local",
    )
    add("--cores", nargs="+", type=int, default=[2], help="default: 2")
    add("--folder", type=Path, default=None, help="for local; default: memory, if there is any")
    add("--growth", action="store_true", help="instead: the cost of 1 to 8 times the rows")
    add(
        "--shuffle",
        action="store_true",
        help="instead: two passes and Spark's shuffle, 32 to 2,048 shards",
    )


def bench(
    rounds: int,
    *,
    storage: Sequence[str] = ("local",),
    cores: Sequence[int] = (2,),
    folder: Path | None = None,
    growth: bool = False,
    shuffle: bool = False,
) -> list[Lane]:
    """Every lane on every storage and number of cores."""
    rounds = min(rounds, MOST_ROUNDS)
    lanes: list[Lane] = []
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="audioloom-bench-")))
        classes = class_path(scratch)
        for each in storage:
            with _place(each, folder) as place:
                jobs = Jobs(place, classes, rounds)
                if growth:
                    lanes += jobs.grown(cores)
                elif shuffle:
                    lanes += jobs.both_ways(cores)
                else:
                    lanes += jobs.compared(cores)
    return lanes


@contextmanager
def _place(storage: str, folder: Path | None) -> Iterator[Place]:
    if nodes := _CLUSTERS.get(storage):
        with running(f"--nodes={nodes}", *_CLUSTER) as cluster, cluster.exported():
            root = f"{cluster.hdfs}/bench-shard"
            make_folder(locate(root))
            yield Place(f"HDFS, {nodes} replica{'s' * (nodes > 1)}", root)
        return
    memory = Path("/dev/shm")  # noqa: S108 - that it is in memory is what it is for
    parent = folder or (memory if os.access(memory, os.W_OK) else None)
    with tempfile.TemporaryDirectory(prefix="audioloom-bench-", dir=parent) as made:
        yield Place("memory" if parent == memory else "disk", made)


class Jobs:
    """Runs of lanes in one place."""

    def __init__(self, place: Place, classes: str, rounds: int) -> None:
        self._place = place
        self._classes = classes
        self._rounds = rounds

    def compared(self, cores: Sequence[int]) -> list[Lane]:
        """All that write shards, against the floor."""
        lanes: list[Lane] = []
        for number in cores:
            names = (NAIVE, JVM, OURS, FLOOR)
            title = f"{self._place.name}, {number} core{'s' * (number > 1)}"
            lanes += self._measured(names, ROWS, SHARDS, number, title)
        return lanes

    def grown(self, cores: Sequence[int]) -> list[Lane]:
        """Ours on more and more rows; its ratios are to the fewest."""
        lanes: list[Lane] = []
        for number in cores:
            for times in GROWTH:
                rows = times * GROWTH_ROWS
                title = f"{self._place.name}, {number} cores, {rows:,} windows"
                lanes += self._measured((OURS, FLOOR), rows, SHARDS, number, title)
        return lanes

    def both_ways(self, cores: Sequence[int]) -> list[Lane]:
        """Two passes and Spark's shuffle, over the number of shards."""
        names = (SHUFFLED, OURS, FLOOR)
        lanes: list[Lane] = []
        for number in cores:
            for shards in MANY_SHARDS:
                title = f"{self._place.name}, {number} cores, {shards} shards"
                lanes += self._measured(names, MANY_SHARDS_ROWS, shards, number, title)
        return lanes

    def _measured(
        self, names: Sequence[str], rows: int, shards: int, cores: int, title: str
    ) -> list[Lane]:
        """Lanes in turn, every other round backwards."""
        features = made_features(self._place.folder, rows, FILES)
        found: dict[str, list[Taken]] = {name: [] for name in names}
        try:
            for number in range(self._rounds):
                for name in names[::-1] if number % 2 else names:
                    found[name].append(self._run(name, features, rows, shards, cores))
        finally:
            remove_tree(locate(features))
        return figures(found, rows, title)

    def _run(self, name: str, features: str, rows: int, shards: int, cores: int) -> Taken:
        out = locate(self._place.folder) / f"out-{name.replace(' ', '-')}"
        words = [sys.executable, "-m", "audioloom_bench.shard_lanes", NAMES[name], features]
        words += [str(out), str(cores), str(shards), "2", self._classes]
        environment = {k: v for k, v in os.environ.items() if not k.startswith(_NOT_FOR_JOBS)}
        with (
            tempfile.TemporaryFile("w+") as errors,
            subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=environment,
            ) as process,
            watched(process.pid) as watch,
            _ended(process),
        ):
            assert process.stdin is not None  # noqa: S101 - pipes were asked for
            assert process.stdout is not None  # noqa: S101
            times, begun, ended = [], 0.0, 0.0
            for number in range(2):
                if process.stdout.readline().strip() != DONE:
                    process.wait()
                    errors.seek(0)
                    raise RuntimeError(f"{name} ended early:\n{errors.read()[-3000:]}")
                times.append(watch.cpu_seconds())
                ended = time.perf_counter()
                expect_all(out / str(number), rows)
                remove_tree(out / str(number))
                if number == 0:
                    begun = time.perf_counter()
                process.stdin.write("\n")
                process.stdin.flush()
        cold, both = times
        taken = Taken(cold, both - cold, ended - begun, watch.megabytes)
        print(f"{name}: {taken}", file=sys.stderr)  # what takes minutes says how far it is
        return taken


@contextmanager
def _ended(process: subprocess.Popen[str]) -> Iterator[None]:
    """Kill it if the block does not end well; its Java ends with it."""
    try:
        yield
    except BaseException:
        process.kill()
        raise


def expect_all(out: Location, rows: int) -> None:
    """A lane that lost some on the way would look fast: it says so instead."""
    found = sum(entry.size for entry in walk(out))
    if found < rows * _VALUE_BYTES:
        raise RuntimeError(f"expected the values of {rows:,} windows in {out}, found {found} bytes")


def figures(found: Mapping[str, Sequence[Taken]], rows: int, title: str) -> list[Lane]:
    """Medians, and medians of the ratios within a round; where nobody is naive, of the first."""
    kinds: dict[tuple[str, str], Callable[[Taken], float]] = {
        (WARM, "µs CPU / record"): lambda each: each.warm / rows * _MICRO,
        (CLOCK, "µs / record"): lambda each: each.warm_clock / rows * _MICRO,
        ("cold", "µs CPU / record"): lambda each: each.cold / rows * _MICRO,
        ("memory", "MB"): lambda each: each.memory,
    }
    first = next(iter(found))
    lanes = []
    for (kind, unit), value in kinds.items():
        taken = {name: [value(each) for each in runs] for name, runs in found.items()}
        lanes += [
            Lane(
                lane=name,
                input=f"{title}, {kind}",
                value=statistics.median(taken[name]),
                unit=unit,
                vs_naive=paired(taken[first], taken[name]),
                vs_floor=paired(taken[FLOOR], taken[name]),
            )
            for name in found
        ]
    return lanes


def shortfall(lanes: Sequence[Lane]) -> str | None:
    """What of ours costs too much, if anything does."""
    by_input: dict[str, dict[str, Lane]] = {}
    for lane in lanes:
        if lane.input.endswith(WARM):
            by_input.setdefault(lane.input, {})[lane.lane] = lane
    told = []
    for name, found in by_input.items():
        if NAIVE not in found:
            continue
        own, java = found[OURS].vs_naive, found[JVM].vs_naive
        if own < LEAST:
            told.append(f"{name}: {own:.2f} times the naive job, expected at least {LEAST:g}")
        if own < java:
            told.append(f"{name}: {own:.2f} times the naive job, the JVM path {java:.2f}")
    return "\n".join(told) or None
