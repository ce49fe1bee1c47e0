"""Neither the layout of the inputs nor the memory of a task changes a byte."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from audioloom_manifest.parquet import feature_bytes
from audioloom_sharder.inputs import reader
from audioloom_sharder.steps import encode, merge
from sharder_features import REAL, feature_of, make_features, windows
from sharder_runs import committed, contents

ROWS = windows(120, each=2)


def test_another_file_layout_gives_the_same_bytes(sharder: Callable, tmp_path: Path) -> None:
    """Rows in another order, in other files: the same shards byte for byte."""
    one = make_features(tmp_path / "one", [ROWS[:100], ROWS[100:]])
    shuffled = [ROWS[i] for i in np.random.default_rng(1).permutation(len(ROWS))]
    parts = [shuffled[:7], [], shuffled[7:150], shuffled[150:]]
    other = make_features(tmp_path / "other", parts, row_group=9)
    first, second = (committed(sharder("run", each.folder).out) for each in (one, other))
    assert contents(Path(first.folder.path)) == contents(Path(second.folder.path))
    assert first.manifest.stats == second.manifest.stats


def test_two_inputs_give_the_bytes_of_one(sharder: Callable, tmp_path: Path) -> None:
    """One features run or two with the same rows between them, in any order."""
    whole = make_features(tmp_path / "whole", [ROWS])
    one = make_features(tmp_path / "parts", [ROWS[:50]], source="one")
    two = make_features(tmp_path / "parts", [ROWS[50:]], source="two")
    runs = [
        committed(sharder("run", *places).out)
        for places in ([whole.folder], [one.folder, two.folder])
    ]
    assert contents(Path(runs[0].folder.path)) == contents(Path(runs[1].folder.path))
    again = sharder("run", two.folder, one.folder, "--json").data
    assert again["already_committed"]
    assert 2 == len(runs[1].manifest.inputs)


def test_small_runs_and_windows_change_no_byte(
    sharder: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However little is held in memory at once, the shards are the same."""
    features = make_features(tmp_path, [ROWS[:100], ROWS[100:]])
    first = committed(sharder("run", features.folder, "--name", "large", "--lanes", "1").out)
    monkeypatch.setattr(encode, "WINDOW_BYTES", 1000)
    monkeypatch.setattr(merge, "WINDOW_BYTES", 1500)
    monkeypatch.setattr(reader, "HELD_BYTES", 1000)
    second = committed(sharder("run", features.folder, "--name", "small", "--lanes", "1").out)
    assert contents(Path(first.folder.path)) == contents(Path(second.folder.path))


def test_memory_does_not_grow_with_what_a_task_reads_or_writes(
    sharder: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One file into one shard: six times the payload takes no more than the same rooms."""
    monkeypatch.setattr(encode, "WINDOW_BYTES", 1 << 20)
    monkeypatch.setattr(merge, "WINDOW_BYTES", 1 << 20)
    monkeypatch.setattr(reader, "HELD_BYTES", 1 << 20)
    peaks = []
    for count in (10, 60, 360):  # the first for what is imported on the way
        rows, feature = windows(count), feature_of(REAL)
        features = make_features(tmp_path / str(count), [rows], feature=feature, row_group=20)
        tracemalloc.start()
        sharder("run", features.folder, "--lanes", "1", "--shards", "1", "--split", "train=1")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    _, small, large = peaks
    assert large - small < 300 * feature_bytes(feature_of(REAL)) / 10


def test_many_ranges_change_no_byte(
    sharder: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ranked at once or range by range, the shards and the counts are the same."""
    from audioloom_sharder.sharding import ranking

    features = make_features(tmp_path, [ROWS[:100], ROWS[100:]])
    first = committed(sharder("run", features.folder, "--name", "one").out)
    monkeypatch.setattr(ranking, "RANGE_RECORDS", 17)
    second = committed(sharder("run", features.folder, "--name", "many").out)
    assert contents(Path(first.folder.path)) == contents(Path(second.folder.path))
    assert first.manifest.stats == second.manifest.stats
    assert first.manifest.identity == second.manifest.identity
