"""Another project's reader of TFRecord (PyPI's tfrecord) finds every feature of every record.

It runs in a process of its own: TensorFlow's messages have the same names as those it brings.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from audioloom_manifest.kinds import ShardsManifest
from audioloom_manifest.reader import Opened, read_manifest
from sharder_features import Window, feature_of, make_features, values_of

ROWS = [
    Window(f"é{i}.wav", group=f"g{i}", label="ab"[i % 2], target=i / 8, window=i) for i in range(60)
]
PROGRAM = """
import json, sys
from tfrecord.reader import tfrecord_loader
from tfrecord.tools.tfrecord2idx import create_index

kinds = dict(channel="int", group="byte", label="byte", label_id="int", mfcc="float", path="byte",
             target="float", valid_frames="int", window="int")
asked = json.loads(sys.argv[1])
if "make_index" in asked:
    create_index(asked["make_index"], asked["index"])
    sys.exit()
for path in asked["paths"]:
    options = dict(shard=asked["part"], compression_type=asked["compression"])
    for found in tfrecord_loader(path, asked["index"], kinds, **options):
        print(json.dumps({name: value.decode() if isinstance(value, bytes) else value.tolist()
                          for name, value in found.items()}))
"""


def other_reader(
    paths: Sequence[Path],
    *,
    index: Path | None = None,
    part: tuple[int, int] | None = None,
    compression: str | None = None,
) -> list[dict]:
    """What it finds in files; with an index, in one of several parts of them."""
    said = tell(
        paths=[str(path) for path in paths],
        index=None if index is None else str(index),
        part=part,
        compression=compression,
    )
    return [json.loads(line) for line in said.splitlines()]


def tell(**asked: object) -> str:
    command = [sys.executable, "-c", PROGRAM, json.dumps(asked)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def committed(sharder: Callable, root: Path, *words: str) -> Opened[ShardsManifest]:
    features = make_features(root, [ROWS])
    splits = ("--split", "train=1", "--lanes", "2")
    ran = sharder("run", features.folder, "--target", "number", *splits, *words)
    return read_manifest(ran.out.strip(), "shards")


@pytest.mark.parametrize("compression", [None, "gzip"])
def test_every_feature_is_found(sharder: Callable, tmp_path: Path, compression: str | None) -> None:
    """By its name and kind, with the values that the features held."""
    opened = committed(sharder, tmp_path, "--compression", compression or "none")
    paths = [Path(opened.folder.path, entry.path) for entry in opened.files("shard")]
    known = {row.path: row for row in ROWS}
    found = other_reader(paths, compression=compression)
    assert sorted(known) == sorted(one["path"] for one in found)
    for one in found:
        row = known[one["path"]]
        values = np.array(one.pop("mfcc"), dtype="<f4").reshape(feature_of().shape)
        assert np.array_equal(values_of(row, feature_of()), values)
        expected = {
            "channel": [-1],
            "group": row.group,
            "label": row.label,
            "label_id": ["ab".index(row.label or "")],
            "path": row.path,
            "target": [row.target],
            "valid_frames": [3],
            "window": [row.window],
        }
        assert expected == one


def test_records_are_found_by_our_index(sharder: Callable, tmp_path: Path) -> None:
    """Offsets and lengths are those that its own indexer finds; parts of a shard make the whole."""
    opened = committed(sharder, tmp_path)
    entry = opened.files("index")[0]
    path = Path(opened.folder.path, entry.path)
    shard = path.with_name(path.name.replace(".idx.npy", ".tfrecord"))
    theirs, ours = tmp_path / "theirs.idx", tmp_path / "ours.idx"
    tell(make_index=str(shard), index=str(theirs))
    np.savetxt(ours, np.load(path)[:, :2], fmt="%d")
    assert theirs.read_text() == ours.read_text()
    parts = [other_reader([shard], index=ours, part=(part, 2)) for part in range(2)]
    assert other_reader([shard]) == parts[0] + parts[1]
    assert all(parts)
