"""The driver of a large run, with tasks that only pretend: its memory, and what it sends."""

from __future__ import annotations

import pickle
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from audioloom_manifest import reader
from audioloom_manifest.envelope import FileEntry
from audioloom_manifest.file_list import MOST_LIST_BYTES, files_list
from audioloom_manifest.receipts import MOST_RECEIPT_BYTES, Receipt
from audioloom_sharder.capacity import DRIVER_COUNT_BYTES, DRIVER_FILE_BYTES, DRIVER_SHARD_BYTES
from audioloom_sharder.commands import run as run_command
from audioloom_sharder.formats.names import index_path, shard_path
from audioloom_sharder.io.executor import executor
from audioloom_sharder.sharding.layout import UNITS, Layout
from audioloom_sharder.sharding.ranking import DistinctCounts
from audioloom_sharder.statistics import COEFFICIENT_SUMS, CoefficientSums
from audioloom_sharder.steps import job as steps
from audioloom_sharder.steps import merge
from audioloom_sharder.steps.merge import INDEX_ROLE, SHARD_ROLE, ShardUnit
from audioloom_sharder.windows.metadata_scan import SUMMARY, SplitCount, Summary
from sharder_features import commit_features, feature_of, make_features, windows

ROWS = 100  # of a features file
LABELS = tuple(f"label {number}" for number in range(8))
WORDS = ("--split", "train=1", "--lanes", "24")


def entry(path: str, **more: Any) -> FileEntry:
    """A file that is not there."""
    return FileEntry(path=path, bytes=1 << 27, sha256="0123456789abcdef" * 4, **more)


def between(job: steps.Job, step: steps.Step, number: int, **counts: Any) -> Receipt:
    """The receipt of a unit whose file is not there."""
    unit = steps.unit_name(job, step, number)
    files = (entry(f"{unit}-01234567.bin", role=steps.WORK),)
    return Receipt(unit=unit, attempt=job.attempt, files=files, counts=counts)


def shard_entries(split: str, shard: int, labels: Sequence[str]) -> Iterator[FileEntry]:
    """A shard and its index."""
    path = shard_path(split, shard, "0123456789ab" * 6, "tfrecord")
    facts = {"records": ROWS, "split": split, "shard": shard}
    yield entry(path, role=SHARD_ROLE, labels=dict.fromkeys(labels, ROWS + shard), **facts)
    yield entry(index_path(path), role=INDEX_ROLE, **facts)


def scanned(job: steps.Job, unit: Any) -> Receipt:
    counted = SplitCount(ROWS, ROWS * 1000, Counter(dict.fromkeys(LABELS, 1000 + unit.number)))
    summary = SUMMARY.dump_python(Summary({"train": counted}, {}), mode="json")
    return between(job, steps.SCANS, unit.number, summary=summary, offsets=[0] * 6)


def ranked(job: steps.Job, _scans: object, number: int) -> Receipt:
    counted = asdict(DistinctCounts([1], [1], 1, 0))
    return between(job, steps.RANKS, number, counted=counted, offsets=[0] * 4)


def grouped(job: steps.Job, _merged: object, groups: int, number: int) -> Receipt:
    files = (entry("splits/groups-0123456789ab.npy", role="splits", records=groups),)
    return Receipt(unit=steps.unit_name(job, steps.GROUPS, number), attempt="a", files=files)


def encoded(job: steps.Job, _layout: Layout, _ranks: object, unit: Any) -> Receipt:
    return between(job, steps.SEGMENTS, unit.number, offsets=[0, 10**8, 10**9, 10**9, 10**9])


def merged(job: steps.Job, layout: Layout, _segments: object, unit: ShardUnit) -> Receipt:
    name = layout.splits[unit.split].name
    files = (file for shard in unit.shards for file in shard_entries(name, shard, LABELS))
    sums = CoefficientSums(1, (0,), (0,))
    counts = {"moments": COEFFICIENT_SUMS.dump_python(sums, mode="json")}
    unit_name = steps.unit_name(job, steps.SHARDS, unit.number)
    return Receipt(unit=unit_name, attempt="a", files=tuple(files), counts=counts)


PRETEND: dict[str, Callable[..., Receipt]] = {
    "scan_source": scanned,
    "rank_range": ranked,
    "publish_groups": grouped,
    "make_segment": encoded,
    "make_shards": merged,
}


@contextmanager
def pretending(*_: object) -> Iterator[Callable[..., Iterator[Receipt]]]:
    """An executor whose tasks do nothing, and answer in the form of those that do."""

    def run_units(units: Sequence[Any], task: partial[Receipt]) -> Iterator[Receipt]:
        for unit in units:
            yield PRETEND[task.func.__name__](*task.args, unit)

    yield run_units


def peak(sharder: Callable, tmp_path: Path, files: int, shards: int) -> int:
    """The most memory that the driver held beyond what it had."""
    tiny = ((b"%d" % number, ROWS) for number in range(files))
    rows = files * ROWS
    name = f"{files}-{shards}"
    features = commit_features(tmp_path / name, tiny, feature_of(), windows=rows, recordings=rows)
    tracemalloc.start()
    ran = sharder("run", features.folder, *WORDS, "--shards", shards)
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0 == ran.code, ran.err
    return found


def test_memory_is_as_predicted(
    sharder: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For a features file more, and for a shard more: not more, and not far less."""
    monkeypatch.setattr(run_command, "executor", pretending)
    monkeypatch.setattr(reader, "MOST_MANIFEST_BYTES", 1 << 20)  # memory of this size, to read one
    peak(sharder, tmp_path, 20, 24)  # what is imported on the way
    base = peak(sharder, tmp_path, 100, 240)
    of_file = (peak(sharder, tmp_path, 900, 240) - base) / 800
    of_shard = (peak(sharder, tmp_path, 100, 2400) - base) / 2160
    told = DRIVER_SHARD_BYTES + len(LABELS) * DRIVER_COUNT_BYTES
    assert DRIVER_FILE_BYTES / 4 < of_file <= DRIVER_FILE_BYTES
    assert told / 4 < of_shard <= told


def test_tasks_do_not_grow_with_the_run(
    sharder: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What Spark sends to every unit is of one size: tables tell where the many files lie."""
    sizes: list[dict[str, int]] = []

    @contextmanager
    def measuring(*given: Any) -> Iterator[Callable[..., Iterator[Any]]]:
        with executor(*given) as run_units:

            def measured(units: Sequence[Any], task: Callable[[Any], Any]) -> Iterator[Any]:
                sizes[-1][task.func.__name__] = len(pickle.dumps(task))  # type: ignore[attr-defined]
                yield from run_units(units, task)

            yield measured

    monkeypatch.setattr(run_command, "executor", measuring)
    for files, shards in ((2, 24), (40, 240)):
        rows = windows(files * 12, groups=files * 6)
        parts = [rows[at : at + 12] for at in range(0, len(rows), 12)]
        features = make_features(tmp_path / str(files), parts)
        sizes.append({})
        ran = sharder("run", features.folder, *WORDS, "--stratify", "--shards", shards)
        assert 0 == ran.code, ran.err
    small, large = sizes
    assert {*PRETEND, "gather_source", "assign_all"} == small.keys() == large.keys()
    for name, size in large.items():
        assert size <= small[name] + 100, name  # numbers have more digits
        assert size < 1 << 20


def test_a_million_shards_fit_the_list_of_files() -> None:
    """With the counts of labels that it may hold, and the receipts of their units too."""
    million = range(10**6 - 1000, 10**6)
    entries = [each for shard in million for each in shard_entries("train", shard, ())]
    size = len(files_list(entries)[0]) * 1000 + merge.MOST_COUNTS_BYTES
    assert size < MOST_LIST_BYTES
    in_unit = 10**6 // UNITS
    assert size // 10**6 * in_unit < MOST_RECEIPT_BYTES
