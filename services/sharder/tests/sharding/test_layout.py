"""The number of shards and their size."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from audioloom_sharder.sharding import layout
from audioloom_sharder.sharding.layout import SplitLayout
from sharder_features import REAL, Window, feature_of, make_features, windows
from sharder_runs import committed


@pytest.mark.parametrize(
    ("shards", "megabytes", "units", "most"),
    [
        (24, 1, 3, 8),  # several small shards a task
        (24, 128, 24, 1),
        (3_725, 128, 932, 4),  # 500 GB of features
        (234_000, 128, 2_438, 96),  # 31 TB
        (100_000, 4_000, 33_334, 3),  # what a local disk holds
    ],
)
def test_units_of_many_shards_grow(shards: int, megabytes: int, units: int, most: int) -> None:
    """Every unit opens every segment, so a large set has few units, each with many shards."""
    split = SplitLayout(
        name="train",
        lanes=24,
        shards=shards,
        first=0,
        records=shards,
        bytes=shards * megabytes << 20,
    )
    found = list(split.units(shards))
    assert list(range(shards)) == [shard for unit in found for shard in unit]
    assert units == len(found)
    assert most == max(map(len, found))


def test_labels_that_no_manifest_holds_are_refused(
    sharder: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before a record is written; the plan says so too."""
    monkeypatch.setattr(layout, "MOST_MANIFEST_BYTES", 2000)
    labels = [f"a label of many words, number {number}" for number in range(30)]
    features = make_features(tmp_path, [windows(30, labels=labels)])
    for command in ("plan", "run"):
        ran = sharder(command, features.folder, "--split", "train=1")
        assert 65 == ran.code
        assert "labels and their counts of at most 2,000 bytes" in ran.err
    assert not list(tmp_path.glob("shards/*/shards/*"))


def test_one_record_is_a_run(sharder: Callable, tmp_path: Path) -> None:
    """One lane, one shard, and a word about it."""
    features = make_features(tmp_path, [[Window("a.wav")]])
    ran = sharder("run", features.folder, "--split", "train=1")
    stats = committed(ran.out).manifest.stats.splits["train"]
    assert (1, 1, 1) == (stats.records, stats.shards, stats.lanes)
    assert "1 lane instead of 24" in ran.err


def test_fewer_records_than_shards(sharder: Callable, tmp_path: Path) -> None:
    """As many shards as leave none empty, fewer lanes where it must be, and a word about it."""
    features = make_features(tmp_path, [[Window(f"{i}.wav") for i in range(29)]])
    words = ("--split", "train=1", "--name")
    many = committed(sharder("run", features.folder, *words, "many", "--shards", "48").out)
    stats = many.manifest.stats.splits["train"]
    assert (24, 24) == (stats.shards, stats.lanes)
    ran = sharder("run", features.folder, *words, "lanes", "--lanes", "60", "--shards", "60")
    stats = committed(ran.out).manifest.stats.splits["train"]
    assert (20, 20) == (stats.shards, stats.lanes)
    assert "split train has only 29 records: 20 lanes instead of 60" in ran.err
    assert "has to divide 20" in ran.err


def test_shards_asked_for_are_those_of_the_largest_split(sharder: Callable, tmp_path: Path) -> None:
    """The others get about the same size of shard."""
    features = make_features(tmp_path, [windows(1000, groups=500)])
    opened = committed(sharder("run", features.folder, "--lanes", "4", "--shards", "40").out)
    shards = {name: split.shards for name, split in opened.manifest.stats.splits.items()}
    assert 40 == shards["train"]
    assert {4, 8} >= {shards["val"], shards["test"]}


def test_real_windows_are_as_large_as_planned(sharder: Callable, tmp_path: Path) -> None:
    """The plan's bytes are the bytes that are written."""
    features = make_features(tmp_path, [windows(60)], feature=feature_of(REAL))
    planned = sharder("plan", features.folder, "--json").data
    opened = committed(sharder("run", features.folder).out)
    written = {name: split.bytes for name, split in opened.manifest.stats.splits.items()}
    assert {name: split["bytes"] for name, split in planned["splits"].items()} == written
