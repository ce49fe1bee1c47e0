"""HDFS as `audioloom_storage` reads it, against what hdfs-native itself reaches on the same files.

Naive is the file object of hdfs-native, as fsspec hands it out too: `seek` and `read`. The floor is
the fastest way that hdfs-native has: one stream for a whole file, `read_range` for a part, and
nothing kept. A cluster of one node is started for it; all lanes read from the same DataNode.

Each lane is a process of its own: hdfs-native keeps connections to DataNodes for a whole process,
and whoever reads over one that another client has made waits for that client's threads as well.
That made the second of two lanes in one process 10 to 20 % slower than the first.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial

from audioloom_mini_cluster.client import running
from audioloom_storage import locate, make_folder
from hdfs_native import Client, WriteOptions

from audioloom_bench.hdfs_reads import in_order, ranges, whole_files
from audioloom_bench.measure import FLOOR, NAIVE, Lane, measure

OURS, WEBHDFS = "audioloom hdfs", "audioloom webhdfs"
IN_ORDER = "in order"
SHARE = 0.8
"""Of hdfs-native's speed; less is a failure."""

KIB, MIB = 1 << 10, 1 << 20
LARGE_BYTES, BLOCK_BYTES, PIECE_BYTES = 512 * MIB, 128 * MIB, 8 * MIB
SMALL_BYTES, SMALL_FILES = 320 * KIB, 100  # ten seconds of call audio
RANGES = {64 * KIB: 200, 4 * KIB: 400}
"""How many are read in a row, by their size."""

Lanes = Callable[..., dict[str, Callable[[], object]]]


def bench(rounds: int) -> list[Lane]:
    """Every lane on every way to read."""
    # The DataNode works in a process of its own: only the clock on the wall sees it.
    timed = partial(measure, rounds=rounds, clock=time.perf_counter)
    lanes: list[Lane] = []
    with running("--nodes=1", "--hdfs-only") as cluster, cluster.exported():
        hdfs, webhdfs = f"{cluster.hdfs}/bench", f"{cluster.webhdfs}/bench"
        large, small = write_files(hdfs)
        roots = {NAIVE: hdfs, FLOOR: hdfs, OURS: hdfs, WEBHDFS: webhdfs}
        with processes(roots) as each:
            for size in (MIB, 8 * MIB):
                name = f"{LARGE_BYTES // MIB} MiB {IN_ORDER}, {size // MIB} MiB at a time"
                work = each(in_order, large, LARGE_BYTES, size)
                lanes += timed(work, amount=LARGE_BYTES / 1e6, unit="MB / s", input_name=name)
            name = f"whole files of {SMALL_BYTES // KIB} KiB"
            work = each(whole_files, small, SMALL_BYTES)
            lanes += timed(work, amount=SMALL_FILES, unit="files / s", input_name=name)
            for size, count in RANGES.items():
                name = f"ranges of {size // KIB} KiB anywhere in a file"
                dice = random.Random(size)  # noqa: S311 - the same places each time
                offsets = [dice.randint(0, LARGE_BYTES - size) for _ in range(count)]
                work = each(ranges, large, size, offsets)
                lanes += timed(work, amount=count, unit="ranges / s", input_name=name)
    return lanes


@contextmanager
def processes(roots: dict[str, str]) -> Iterator[Lanes]:
    """A process for each lane; what each of them shall do as a call without arguments."""
    with ExitStack() as stack:
        context = multiprocessing.get_context("spawn")
        pools = {
            lane: stack.enter_context(ProcessPoolExecutor(1, mp_context=context)) for lane in roots
        }

        def each(way: Callable[..., None], *arguments: object) -> dict[str, Callable[[], object]]:
            def done(lane: str) -> None:
                pools[lane].submit(way, lane, roots[lane], *arguments).result()

            return {lane: partial(done, lane) for lane in roots}

        yield each


def shortfall(lanes: Sequence[Lane]) -> str | None:
    """What is too slow, if it is."""
    slow = [
        f"{lane.input}: {lane.vs_floor:.0%} of hdfs-native's speed, expected at least {SHARE:.0%}"
        for lane in lanes
        if lane.lane == OURS and lane.vs_floor < SHARE
    ]
    return "\n".join(slow) or None


def write_files(folder: str) -> tuple[str, list[str]]:
    """One large file of a few blocks, and small ones: their names."""
    client, root = Client(folder), locate(folder)
    make_folder(root)
    piece = os.urandom(PIECE_BYTES)
    options = WriteOptions(block_size=BLOCK_BYTES, replication=1)
    with client.create((root / "large").path, options) as file:
        for _ in range(LARGE_BYTES // PIECE_BYTES):
            file.write(piece)
    names = [f"small-{number:03}" for number in range(SMALL_FILES)]
    for name in names:
        with client.create((root / name).path, options) as file:
            file.write(piece[:SMALL_BYTES])
    return "large", names
