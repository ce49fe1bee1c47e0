"""Listings: 300,000 files on a local disk, and a ready inventory of ten million recordings.

Each listing is a process of its own, from its imports to what it wrote; the clock is the one on the
wall. What matters as much as the time is the memory: it may not grow with the archive.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from audioloom_bench import scan_lanes
from audioloom_bench.measure import FLOOR, NAIVE, Lane

FILES, FILES_A_FOLDER = 300_000, 200
ROWS, ROWS_AT_ONCE = 10_000_000, 100_000
MOST_ROUNDS = 3
"""A round takes minutes."""
MOST_MB = 1024
"""What ours may take of memory; more is a failure."""
OURS, IN_TASKS = "audioloom", "audioloom, in tasks"

Way = Callable[[Path, Path], tuple[float, float]]

LISTINGS: dict[str, Way] = {
    NAIVE: scan_lanes.binary_file,
    OURS: scan_lanes.scanned,
    IN_TASKS: partial(scan_lanes.scanned, master="local[2]"),
    FLOOR: scan_lanes.walked,
}
TABLES: dict[str, Way] = {
    NAIVE: scan_lanes.one_table,
    OURS: scan_lanes.given,
    FLOOR: scan_lanes.copied,
}


def bench(rounds: int) -> list[Lane]:
    """Every way to list, of both kinds."""
    rounds = min(rounds, MOST_ROUNDS)
    with tempfile.TemporaryDirectory(prefix="audioloom-bench-") as scratch:
        source = Path(scratch, "recordings")
        make_files(source)
        lanes = compare(LISTINGS, source, FILES, f"{FILES:,} files", rounds)
        make_table(source.parent / "given.parquet")
        return lanes + compare(TABLES, source, ROWS, f"inventory of {ROWS:,}", rounds)


def make_files(source: Path) -> None:
    """Empty files: a listing does not look into them."""
    for first in range(0, FILES, FILES_A_FOLDER):
        folder = source / f"campaign-{first % 7}" / f"speaker-{first // FILES_A_FOLDER:05}"
        folder.mkdir(parents=True)
        for number in range(first, first + FILES_A_FOLDER):
            (folder / f"call-{number:07}.wav").touch()


def make_table(target: Path) -> None:
    """Paths, sizes and times in an order that is none."""
    order = np.random.default_rng(1).permutation(ROWS)
    schema = pa.schema([("path", pa.string()), ("size", pa.int64()), ("modified_ns", pa.int64())])
    with pq.ParquetWriter(target, schema) as writer:
        for first in range(0, ROWS, ROWS_AT_ONCE):
            numbers = order[first : first + ROWS_AT_ONCE]
            paths = [f"campaign-{n % 97}/speaker-{n % 50021:05}/call-{n:08}.wav" for n in numbers]
            columns = [pa.array(paths), pa.array(numbers % 10**6), pa.array(numbers + 10**18)]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))


def compare(
    ways: Mapping[str, Way], source: Path, recordings: int, name: str, rounds: int
) -> list[Lane]:
    """Time and memory of each way, in turn; medians."""
    found: dict[str, list[tuple[float, float]]] = {lane: [] for lane in ways}
    for _ in range(rounds):
        for lane, way in ways.items():
            found[lane].append(_alone(way, source))
    seconds = {lane: statistics.median(each[0] for each in found[lane]) for lane in ways}
    memory = {lane: statistics.median(each[1] for each in found[lane]) for lane in ways}

    def made(kind: str, which: str, value: float, taken: dict[str, float], unit: str) -> Lane:
        own = taken[which]
        return Lane(which, f"{name}, {kind}", value, unit, taken[NAIVE] / own, taken[FLOOR] / own)

    return [
        *(made("speed", each, recordings / seconds[each], seconds, "files / s") for each in ways),
        *(made("memory", each, memory[each], memory, "MB") for each in ways),
    ]


def _alone(way: Way, source: Path) -> tuple[float, float]:
    """In a new process, and what it wrote is removed."""
    with (
        tempfile.TemporaryDirectory(dir=source.parent) as out,
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process,
    ):
        return process.submit(way, source, Path(out)).result()


def shortfall(lanes: list[Lane]) -> str | None:
    """What takes too much memory, if anything of ours does."""
    fat = [
        f"{lane.input}: {lane.value:,.0f} MB, expected at most {MOST_MB}"
        for lane in lanes
        if lane.lane.startswith(OURS) and lane.unit == "MB" and lane.value > MOST_MB
    ]
    return "\n".join(fat) or None
