"""Small shards as the contract has them: written by TensorFlow, listed and committed for real."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from audioloom_manifest.checksum import checksums_of
from audioloom_manifest.envelope import FileEntry, InputRef, Producer, Uncompressed
from audioloom_manifest.kinds import (
    CoefficientStats,
    ShardFeature,
    ShardsManifest,
    ShardsRecipe,
    ShardsStats,
    SplitStats,
    TargetStats,
)
from audioloom_manifest.layout import run_folder
from audioloom_manifest.publication import Attempt, Plan, commit
from audioloom_manifest.reader import Opened
from audioloom_storage import locate
from numpy.typing import NDArray

LABELS = ("calm", "glad", "sad")
SHAPE = (6, 20)


def make_shards(
    root: Path,
    *,
    records: Mapping[str, int],
    lanes: int = 6,
    shards: Mapping[str, int] | None = None,
    shape: tuple[int, int] = SHAPE,
    dtype: str = "float32",
    numbers: bool = False,
    labels: tuple[str, ...] = LABELS,
    name: str = "demo",
    label_ids: Mapping[str, NDArray[np.int64]] | None = None,
    class_weights: dict[str, float] | None = None,
    compression: str = "none",
    crc32c: bool = True,
) -> Opened[ShardsManifest]:
    """Write and commit a shards run whose classes can be told apart.

    Args:
        root: the root to write under.
        records: of each split.
        lanes: of every split, fewer where a split has fewer records.
        shards: of each split; by default two for a lane.
        shape: of the feature.
        dtype: of the feature.
        numbers: the target is a number.
        labels: the vocabulary.
        name: of the run.
        label_ids: class numbers of a split, to be wrong on purpose.
        class_weights: of the stats.
        compression: of the shards: none, gzip or zlib.
        crc32c: whether the list of files has this checksum; version 1.0 had none.
    """
    folder = run_folder(locate(root), "shards", name)
    entries, stats = [], {}
    for number, (split, count) in enumerate(records.items()):
        split_lanes = max(d for d in range(1, lanes + 1) if lanes % d == 0 and d <= count)
        total = (shards or {}).get(split, min(2, count // split_lanes) * split_lanes)
        features, ids = _features(count, shape, len(labels), seed=number)
        ids = (label_ids or {}).get(split, ids)
        size = 0
        for shard in range(total):
            ranks = np.arange(shard, count, total)
            made = _write_shard(
                Path(folder.path),
                split,
                shard,
                features[ranks],
                ids[ranks],
                labels,
                dtype,
                numbers,
                compression,
            )
            entries += made
            size += made[0].bytes
        counts = {label: int((ids == i).sum()) for i, label in enumerate(labels)}
        stats[split] = SplitStats(
            records=count,
            shards=total,
            lanes=split_lanes,
            bytes=size,
            recordings=count,
            groups=count,
            labels={} if numbers else {k: v for k, v in counts.items() if v},
            coefficients=CoefficientStats(
                mean=tuple(features.mean((0, 2), np.float64).tolist()),
                variance=tuple(features.var((0, 2), np.float64).tolist()),
            ),
            targets=TargetStats(mean=float(np.mean(ids / 2)), variance=float(np.var(ids / 2)))
            if numbers
            else None,
        )
    recipe = ShardsRecipe(
        algorithm=1,
        seed=0,
        lanes=lanes,
        shards=None,
        shard_bytes=1 << 20,
        splits={split: 1 / len(records) for split in records},
        ungrouped="by-recording",
        labels=None,
        target="number" if numbers else "label",
        compression=compression,
    )
    source = InputRef(
        kind="features",
        name="demo",
        location="features/demo",
        identity="sha256:" + "0" * 64,
        sha256="0" * 64,
    )
    if not crc32c:
        entries = [entry.model_copy(update={"crc32c": None}) for entry in entries]
    plan = Plan("shards", name, folder, recipe, (source,))
    attempt = Attempt(Producer(stage="sharder", version="0.1.0"), host="test")
    feature = ShardFeature(name="mfcc", dtype=dtype, shape=shape)
    whole = ShardsStats(feature=feature, labels=labels, splits=stats, class_weights=class_weights)
    return commit(plan, attempt, entries, whole).opened


def _features(
    count: int, shape: tuple[int, int], classes: int, seed: int
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Noise with a rhythm that depends on the class."""
    rng = np.random.Generator(np.random.PCG64([5, seed]))
    ids = rng.integers(0, classes, count)
    time = np.arange(shape[1])
    wave = np.sin(time[None, None, :] * (0.4 + 0.5 * ids[:, None, None]))
    return (wave + rng.normal(size=(count, *shape))).astype(np.float32), ids


def _write_shard(
    folder: Path,
    split: str,
    shard: int,
    features: NDArray[np.float32],
    ids: NDArray[np.int64],
    labels: tuple[str, ...],
    dtype: str,
    numbers: bool,
    compression: str,
) -> list[FileEntry]:
    import tensorflow as tf

    folder.joinpath("shards").mkdir(parents=True, exist_ok=True)
    temporary = folder / "shards" / "new"
    rows, values = [], []
    with tf.io.TFRecordWriter(str(temporary)) as writer:
        offset = 0
        for row, (feature, label) in enumerate(zip(features, ids.tolist(), strict=True)):
            raw = feature.astype(np.dtype(dtype).newbyteorder("<")).tobytes()
            record = _example(raw, feature, label, labels, dtype, numbers, f"{split}/{shard}/{row}")
            writer.write(record)
            length = len(record) + 16
            rows.append((offset, length, offset + 12 + record.index(raw), -1 if numbers else label))
            values.append(raw)
            offset += length
    data = plain = temporary.read_bytes()
    if compression != "none":
        data = gzip.compress(data, mtime=0) if compression == "gzip" else zlib.compress(data)
        temporary.write_bytes(data)
    checksums = checksums_of(data)
    path = f"shards/{split}-{shard:05}-{checksums['sha256'][:12]}.tfrecord"
    temporary.rename(folder / path)
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.array(rows, dtype="<i8"), version=(1, 0))
    index = stream.getvalue()
    (folder / path).with_suffix(".idx.npy").write_bytes(index)
    known = {"records": len(rows), "split": split, "shard": shard}
    unpacked = Uncompressed(bytes=len(plain), **checksums_of(plain))
    packed = checksums if compression == "none" else {**checksums, "uncompressed": unpacked}
    return [
        FileEntry(path=path, bytes=len(data), role="shard", **known, **packed),
        FileEntry(
            path=path.removesuffix(".tfrecord") + ".idx.npy",
            bytes=len(index),
            role="index",
            **known,
            **checksums_of(index),
        ),
    ]


def _example(
    raw: bytes,
    feature: NDArray[np.float32],
    label: int,
    labels: tuple[str, ...],
    dtype: str,
    numbers: bool,
    path: str,
) -> bytes:
    import tensorflow as tf

    def whole(*values: int) -> object:
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values))

    def text(value: bytes) -> object:
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))

    def floats(values: object) -> object:
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))

    known = labels[label] if 0 <= label < len(labels) else ""
    fields = {
        "channel": whole(0),
        "group": text(b"g"),
        "label": text(known.encode()),
        "label_id": whole(-1 if numbers else label),
        "mfcc": floats(feature.ravel()) if dtype == "float32" else text(raw),
        "path": text(path.encode()),
        "valid_frames": whole(feature.shape[1]),
        "window": whole(0),
    }
    if numbers:
        fields["target"] = floats([label / 2])
    example = tf.train.Example(features=tf.train.Features(feature=fields))
    return bytes(example.SerializeToString(deterministic=True))
