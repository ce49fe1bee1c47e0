"""The statistics of a manifest are those of its records."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import mean, pvariance

import numpy as np
from sharder_features import Window, make_features, windows
from sharder_runs import committed, records_of

ROWS = windows(120, each=2)


def test_stats_are_counts_of_what_is_there(sharder: Callable, tmp_path: Path) -> None:
    """Records, recordings, groups, bytes and labels of every split; shards are even."""
    features = make_features(tmp_path, [ROWS])
    opened = committed(sharder("run", features.folder, "--lanes", "6").out)
    records = records_of(opened)
    for name, stats in opened.manifest.stats.splits.items():
        some = records[name]
        assert stats.records == len(some)
        assert stats.recordings == len({one.path for one in some})
        assert stats.groups == len({one.group for one in some})
        assert stats.labels == {
            label: sum(one.label == label for one in some)
            for label in sorted({one.label for one in some})
        }
        entries = [one for one in opened.files("shard") if one.split == name]
        assert stats.shards == len(entries)
        assert stats.bytes == sum(one.bytes for one in entries)
        sizes = [one.records for one in sorted(entries, key=lambda one: one.shard)]
        assert max(sizes) - min(sizes) <= 1
        assert sorted(sizes, reverse=True) == sizes
        assert 0 == stats.shards % stats.lanes


def test_stats_of_the_coefficients_are_those_of_the_split(
    sharder: Callable, tmp_path: Path
) -> None:
    """Mean and variance over all frames of its records, and of no other split's."""
    features = make_features(tmp_path, [ROWS])
    opened = committed(sharder("run", features.folder).out)
    shape = opened.manifest.stats.feature.shape
    for name, some in records_of(opened).items():
        values = np.stack([np.frombuffer(one.values, "<f4").reshape(shape) for one in some])
        wide = values.astype(np.float64)
        stats = opened.manifest.stats.splits[name].coefficients
        np.testing.assert_allclose(stats.mean, wide.mean(axis=(0, 2)), rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(stats.variance, wide.var(axis=(0, 2)), rtol=1e-6, atol=1e-6)


def test_numbers_are_learned_without_labels(sharder: Callable, tmp_path: Path) -> None:
    """With --target number a label may be missing: its number is -1. Mean and variance are told."""
    rows = [
        Window(f"{i}.wav", group=f"g{i}", target=i / 4, label="x" if i % 2 else None)
        for i in range(60)
    ]
    features = make_features(tmp_path, [rows])
    opened = committed(sharder("run", features.folder, "--target", "number").out)
    assert ("x",) == opened.manifest.stats.labels
    for some in records_of(opened).values():
        for one in some:
            number = int(one.path.removesuffix(".wav"))
            assert (number / 4, 0 if number % 2 else -1) == (one.target, one.label_id)
    for name, split in opened.manifest.stats.splits.items():
        mine = [one.target for one in records_of(opened)[name]]
        assert split.targets is not None
        assert (mean(mine), pvariance(mine)) == (split.targets.mean, split.targets.variance)
    train = opened.manifest.stats.splits["train"].targets
    assert f"{train.mean:.4g} ± {train.variance**0.5:.4g}" in sharder("inspect", opened.folder).out


def test_of_labels_there_is_no_mean(sharder: Callable, tmp_path: Path) -> None:
    """Numbers that lie in the features but are not learned say nothing of the shards."""
    rows = [Window(f"{i}.wav", group=f"g{i}", target=i / 4, label="ab"[i % 2]) for i in range(60)]
    opened = committed(sharder("run", make_features(tmp_path, [rows]).folder).out)
    assert {None} == {split.targets for split in opened.manifest.stats.splits.values()}
    assert "targets" not in sharder("inspect", opened.folder).out
