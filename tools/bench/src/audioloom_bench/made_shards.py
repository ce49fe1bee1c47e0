"""Shards to measure on: a committed run of random windows in a training split, as the sharder's."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from audioloom_manifest.checksum import checksums_of
from audioloom_manifest.envelope import FileEntry, InputRef, Producer
from audioloom_manifest.kinds import (
    ShardFeature,
    ShardsManifest,
    ShardsRecipe,
    ShardsStats,
    SplitStats,
)
from audioloom_manifest.layout import run_folder
from audioloom_manifest.publication import Attempt, Plan, commit
from audioloom_manifest.reader import Opened
from audioloom_manifest.records.example import Record, Stored, encode
from audioloom_manifest.records.index import HEADER_BYTES, dump
from audioloom_manifest.records.tfrecord import frame
from audioloom_storage import Location, create, make_folder

SHAPE, CLASSES, LANES = (40, 313), 8, 24
LABELS = tuple(f"class{number}" for number in range(CLASSES))


def made_shards(
    root: Location, records: int, *, lanes: int = LANES, shards: int = LANES
) -> Opened[ShardsManifest]:
    """Write *records* windows of float32 into *shards* files with their indexes, and commit them.

    Args:
        root: local or on HDFS; the run is `shards/made` below it.
        records: at least one for each shard.
        lanes: a divisor of *shards*.
        shards: how many files.
    """
    folder = run_folder(root, "shards", "made")
    make_folder(folder / "shards")
    random = np.random.default_rng(0)
    entries: list[FileEntry] = []
    counts = np.zeros(CLASSES, dtype=np.int64)
    for number in range(shards):
        labels = random.integers(CLASSES, size=len(range(number, records, shards)))
        counts += np.bincount(labels, minlength=CLASSES)
        entries += _shard(folder, number, labels.tolist(), random)
    stats = SplitStats(
        records=records,
        shards=shards,
        lanes=lanes,
        bytes=sum(entry.bytes for entry in entries if entry.role == "shard"),
        recordings=records,
        groups=records,
        coefficients=None,
        targets=None,
        labels={label: int(n) for label, n in zip(LABELS, counts, strict=True) if n},
    )
    # What is not said has its default, which types do not know of.
    recipe = ShardsRecipe.model_validate(
        {
            "algorithm": 1,
            "seed": 0,
            "lanes": lanes,
            "shards": None,
            "shard_bytes": 1 << 20,
            "splits": {"train": 1.0},
            "ungrouped": "by-recording",
            "labels": None,
            "target": "label",
            "compression": "none",
        }
    )
    source = InputRef(
        kind="features",
        name="made",
        location="features/made",
        identity=f"sha256:{0:064}",
        sha256=f"{0:064}",
    )
    whole = ShardsStats(
        feature=ShardFeature(name="mfcc", dtype="float32", shape=SHAPE),
        labels=LABELS,
        splits={"train": stats},
    )
    attempt = Attempt(Producer(stage="sharder", version="0.1.0"), host="bench")
    plan = Plan("shards", "made", folder, recipe, (source,))
    return commit(plan, attempt, entries, whole).opened


def _shard(
    folder: Location, number: int, labels: list[int], random: np.random.Generator
) -> Iterator[FileEntry]:
    data, rows = bytearray(), []
    for position, label in enumerate(labels):
        record = Record(
            channel=-1,
            group=f"{number}-{position}",
            label=LABELS[label],
            label_id=label,
            path=f"calls/{number}/{position}.wav",
            target=None,
            valid_frames=SHAPE[1],
            values=random.standard_normal(SHAPE, dtype=np.float32).astype("<f4").tobytes(),
            window=0,
        )
        payload, values = encode(record, Stored("mfcc", "float_list"))
        framed = frame(payload)
        rows.append((len(data), len(framed), len(data) + HEADER_BYTES + values, label))
        data += framed
    contents = {"shard": (".tfrecord", bytes(data)), "index": (".idx.npy", dump(np.array(rows)))}
    for role, (suffix, content) in contents.items():
        path = f"shards/train-{number:05}{suffix}"
        with create(folder / path) as sink:
            sink.write(content)
        yield FileEntry(
            path=path,
            bytes=len(content),
            role=role,
            records=len(labels),
            split="train",
            shard=number,
            **checksums_of(content),
        )
