"""Every window becomes one record with its own values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from audioloom_manifest.records.example import decode
from audioloom_manifest.records.tfrecord import read
from sharder_features import Window, feature_of, make_features, values_of, windows
from sharder_runs import committed, records_of

ROWS = windows(120, each=2)


def test_every_window_once_with_its_values(sharder: Callable, tmp_path: Path) -> None:
    """All rows, each in one split only, and their values bit for bit."""
    features = make_features(tmp_path, [ROWS[:100], ROWS[100:]])
    opened = committed(sharder("run", features.folder, "--lanes", "4").out)
    records = records_of(opened)
    by_key = {(row.path, row.window): row for row in ROWS}
    found = [(one.path, one.window) for some in records.values() for one in some]
    assert sorted(by_key) == sorted(found)
    labels = opened.manifest.stats.labels
    assert ("a", "b", "c") == labels
    for some in records.values():
        for one in some:
            row = by_key[one.path, one.window]
            assert values_of(row, feature_of()).tobytes() == one.values
            assert (row.label, row.group) == (one.label, one.group)
            assert one.label == labels[one.label_id]
            assert (-1, 3, None) == (one.channel, one.valid_frames, one.target)
    groups = [{one.group for one in some} for some in records.values()]
    assert not groups[0] & groups[1]
    assert not groups[0] & groups[2]
    assert not groups[1] & groups[2]


def test_the_index_says_where_values_are(sharder: Callable, tmp_path: Path) -> None:
    """Every row of every index leads to its record and to the bytes of its values."""
    features = make_features(tmp_path, [ROWS])
    opened = committed(sharder("run", features.folder).out)
    folder = Path(opened.folder.path)
    for entry in opened.files("index"):
        shard = folder / entry.path.replace(".idx.npy", ".tfrecord")
        data = shard.read_bytes()
        rows = np.load(folder / entry.path, allow_pickle=False)
        assert entry.records == len(rows)
        with shard.open("rb") as stream:
            for (offset, length, values, label), one in zip(rows, read(stream), strict=True):
                record = decode(one.payload, "mfcc")
                assert (one.offset, one.length, record.label_id) == (offset, length, label)
                assert record.values == data[values : values + len(record.values)]


def test_half_precision_is_stored_as_bytes(sharder: Callable, tmp_path: Path) -> None:
    """float16 has no place in an Example but as bytes; the values are the same."""
    feature = feature_of(dtype="float16")
    features = make_features(tmp_path, [ROWS], feature=feature)
    opened = committed(sharder("run", features.folder).out)
    assert "float16" == opened.manifest.stats.feature.dtype
    rows = {(row.path, row.window): row for row in ROWS}
    for some in records_of(opened).values():
        for one in some:
            assert values_of(rows[one.path, one.window], feature).tobytes() == one.values


def test_the_vocabulary_counts_from_zero_as_given(sharder: Callable, tmp_path: Path) -> None:
    """Labels that do not occur keep their number."""
    features = make_features(tmp_path, [ROWS])
    opened = committed(sharder("run", features.folder, "--labels", "zzz, c ,b,a").out)
    assert ("zzz", "c", "b", "a") == opened.manifest.stats.labels
    ids = {one.label: one.label_id for some in records_of(opened).values() for one in some}
    assert {"c": 1, "b": 2, "a": 3} == ids


def test_members_of_a_container_are_recordings(sharder: Callable, tmp_path: Path) -> None:
    """Two members of one container are two recordings, and the record has the path of each."""
    rows = [Window(f"a.zip/{i}.wav", group=f"g{i}", member=f"{i}.wav") for i in range(50)]
    features = make_features(tmp_path, [rows])
    opened = committed(sharder("run", features.folder).out)
    paths = {one.path for some in records_of(opened).values() for one in some}
    assert {f"a.zip/{i}.wav" for i in range(50)} == paths
    assert 50 == sum(split.recordings for split in opened.manifest.stats.splits.values())
