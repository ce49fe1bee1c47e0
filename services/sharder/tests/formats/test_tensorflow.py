"""Stock TensorFlow reads the shards: no code of ours between file and tensor."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from audioloom_manifest.reader import read_manifest
from sharder_features import Window, feature_of, make_features, values_of

ROWS = [
    Window(f"é{i}.wav", group=f"g{i}", label="ab"[i % 2], target=i / 8, window=i) for i in range(90)
]


@pytest.mark.parametrize(
    ("dtype", "target", "compression"),
    [
        ("float32", "label", "none"),
        ("float16", "number", "none"),
        ("float32", "number", "gzip"),
        ("float16", "label", "zlib"),
    ],
)
def test_parse_example_reads_every_feature(
    sharder: Callable, tmp_path: Path, dtype: str, target: str, compression: str
) -> None:
    """TFRecordDataset and parse_example give back what the features held."""
    import tensorflow as tf

    feature = feature_of((4, 3), dtype)
    features = make_features(tmp_path, [ROWS], feature=feature)
    words = ("--target", target, "--compression", compression)
    out = sharder("run", features.folder, *words).out.strip()
    opened = read_manifest(out, "shards")
    one = tf.io.FixedLenFeature
    single = dtype == "float32"
    spec = {
        "channel": one([], tf.int64),
        "group": one([], tf.string),
        "label": one([], tf.string),
        "label_id": one([], tf.int64),
        "mfcc": one(feature.shape, tf.float32) if single else one([], tf.string),
        "path": one([], tf.string),
        "valid_frames": one([], tf.int64),
        "window": one([], tf.int64),
        **({"target": one([], tf.float32)} if target == "number" else {}),
    }
    files = [str(Path(opened.folder.path, entry.path)) for entry in opened.files("shard")]
    kind = "" if compression == "none" else compression.upper()
    data = tf.data.TFRecordDataset(files, compression_type=kind).batch(16)
    rows = {row.path: row for row in ROWS}
    seen = []
    for batch in data.map(lambda record: tf.io.parse_example(record, spec)):
        values = batch["mfcc"].numpy()
        if not single:
            raw = tf.io.decode_raw(batch["mfcc"], tf.float16).numpy()
            values = raw.reshape(-1, *feature.shape)
        for at, path in enumerate(batch["path"].numpy()):
            row = rows[path.decode()]
            seen.append(row.path)
            assert np.array_equal(values_of(row, feature), values[at])
            assert row.label == batch["label"][at].numpy().decode()
            assert "ab".index(row.label or "") == batch["label_id"][at].numpy()
            assert (-1, row.window, 3) == tuple(
                batch[name][at].numpy() for name in ("channel", "window", "valid_frames")
            )
            if target == "number":
                assert row.target == batch["target"][at].numpy()
    assert sorted(rows) == sorted(seen)
