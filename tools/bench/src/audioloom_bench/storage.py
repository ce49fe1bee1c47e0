"""HDFS as `audioloom_storage` reads it, against what hdfs-native itself reaches on the same files.

Naive is the file object of hdfs-native, as fsspec hands it out too: `seek` and `read`. The floor is
the fastest way that hdfs-native has: one stream for a whole file, `read_range` for a part, and
nothing kept. A cluster of one node is started for it; all lanes read from the same DataNode.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Sequence
from functools import partial

from audioloom_mini_cluster.client import running
from audioloom_storage import Location, locate, make_folder, open_read
from hdfs_native import Client, WriteOptions

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

Work = dict[str, Callable[[], object]]


def bench(rounds: int) -> list[Lane]:
    """Every lane on every way to read."""
    # The DataNode works in a process of its own: only the clock on the wall sees it.
    timed = partial(measure, rounds=rounds, clock=time.perf_counter)
    lanes: list[Lane] = []
    with running("--nodes=1", "--memory-mb=512") as cluster, cluster.exported():
        client = Client(cluster.hdfs)
        roots = {
            name: locate(uri) / "bench"
            for name, uri in ((OURS, cluster.hdfs), (WEBHDFS, cluster.webhdfs))
        }
        large, small = write_files(client, roots[OURS])
        for size in (MIB, 8 * MIB):
            name = f"{LARGE_BYTES // MIB} MiB {IN_ORDER}, {size // MIB} MiB at a time"
            work = in_order(client, roots, large, size)
            lanes += timed(work, amount=LARGE_BYTES / 1e6, unit="MB / s", input_name=name)
        name = f"whole files of {SMALL_BYTES // KIB} KiB"
        work = whole_files(client, roots, small)
        lanes += timed(work, amount=SMALL_FILES, unit="files / s", input_name=name)
        for size, count in RANGES.items():
            name = f"ranges of {size // KIB} KiB anywhere in a file"
            work = ranges(client, roots, large, size)
            lanes += timed(work, amount=count, unit="ranges / s", input_name=name)
    return lanes


def shortfall(lanes: Sequence[Lane]) -> str | None:
    """What is too slow, if it is."""
    slow = [
        f"{lane.input}: {lane.vs_floor:.0%} of hdfs-native's speed, expected at least {SHARE:.0%}"
        for lane in lanes
        if lane.lane == OURS and lane.vs_floor < SHARE
    ]
    return "\n".join(slow) or None


def write_files(client: Client, root: Location) -> tuple[str, list[str]]:
    """One large file of a few blocks, and small ones: their names."""
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


def in_order(client: Client, roots: dict[str, Location], name: str, size: int) -> Work:
    """A whole file, piece by piece; each lane says whether it saw every byte."""
    path = (roots[OURS] / name).path

    def naive() -> None:
        file = client.read(path)
        check(sum(map(len, iter(partial(file.read, size), b""))), LARGE_BYTES)

    def floor() -> None:
        check(sum(map(len, client.read(path).read_range_stream(0, LARGE_BYTES))), LARGE_BYTES)

    def ours(root: Location) -> None:
        with open_read(root / name) as file:
            check(sum(map(len, iter(partial(file.read, size), b""))), LARGE_BYTES)

    return {NAIVE: naive, FLOOR: floor, **{lane: partial(ours, roots[lane]) for lane in roots}}


def whole_files(client: Client, roots: dict[str, Location], names: Sequence[str]) -> Work:
    """Small files, each opened and read."""

    def naive() -> None:
        for name in names:
            check(len(client.read((roots[OURS] / name).path).read()), SMALL_BYTES)

    def floor() -> None:
        for name in names:
            file = client.read((roots[OURS] / name).path)
            check(len(file.read_range(0, len(file))), SMALL_BYTES)

    def ours(root: Location) -> None:
        for name in names:
            with open_read(root / name) as file:
                check(len(file.read()), SMALL_BYTES)

    return {NAIVE: naive, FLOOR: floor, **{lane: partial(ours, roots[lane]) for lane in roots}}


def ranges(client: Client, roots: dict[str, Location], name: str, size: int) -> Work:
    """Parts of one file that was opened once; every round reads the same."""
    path, last = (roots[OURS] / name).path, LARGE_BYTES - size
    dice = random.Random(size)  # noqa: S311 - the same places each time
    places = [dice.randint(0, last) for _ in range(RANGES[size])]

    def naive() -> None:
        file = client.read(path)
        for place in places:
            file.seek(place)
            check(len(file.read(size)), size)

    def floor() -> None:
        file = client.read(path)
        for place in places:
            check(len(file.read_range(place, size)), size)

    def ours(root: Location) -> None:
        with open_read(root / name) as file:
            for place in places:
                file.seek(place)
                check(len(file.read(size)), size)

    return {NAIVE: naive, FLOOR: floor, **{lane: partial(ours, roots[lane]) for lane in roots}}


def check(found: int, expected: int) -> None:
    """A lane that reads less is not fast."""
    if found != expected:
        raise RuntimeError(f"expected {expected} bytes, found {found}")
