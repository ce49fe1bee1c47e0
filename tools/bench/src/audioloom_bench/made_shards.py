"""Shards to measure on: a training split of random windows, as the sharder writes them."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
from audioloom_sharder.example import Record, encode
from audioloom_sharder.index import dump
from audioloom_sharder.tfrecord import HEADER_BYTES, frame
from audioloom_storage import locate
from audioloom_trainer.order import Layout
from audioloom_trainer.shards import Shard, ShardSet, Split, Stored

SHAPE, CLASSES, LANES = (40, 313), 8, 24


def made_shards(folder: Path, records: int) -> ShardSet:
    """Write *records* windows of float32 into `LANES` shards, with their indexes."""
    random = np.random.default_rng(0)
    shards = tuple(
        _shard(folder, number, len(range(number, records, LANES)), random)
        for number in range(LANES)
    )
    layout = Layout(tuple(shard.records for shard in shards), LANES)
    labels = tuple(f"class{number}" for number in range(CLASSES))
    split = Split("train", layout, shards, dict.fromkeys(labels, records // CLASSES))
    return ShardSet(SHAPE, "float32", labels, {"train": split})


def _shard(folder: Path, number: int, records: int, random: np.random.Generator) -> Shard:
    data, rows = bytearray(), []
    for position in range(records):
        label = int(random.integers(CLASSES))
        record = Record(
            channel=-1,
            group=f"{number}-{position}",
            label=f"class{label}",
            label_id=label,
            mfcc=random.standard_normal(SHAPE).astype("<f4").tobytes(),
            path=f"calls/{number}/{position}.wav",
            target=None,
            valid_frames=SHAPE[1],
            window=0,
        )
        payload, values = encode(record, "float_list")
        framed = frame(payload)
        rows.append((len(data), len(framed), len(data) + HEADER_BYTES + values, label))
        data += framed
    index = dump(np.array(rows, dtype=np.int64))
    return Shard(
        "train",
        number,
        records,
        _stored(folder / f"train-{number:05}.tfrecord", bytes(data)),
        _stored(folder / f"train-{number:05}.idx.npy", index),
    )


def _stored(path: Path, data: bytes) -> Stored:
    path.write_bytes(data)
    return Stored(locate(path), len(data), hashlib.sha256(data).hexdigest())
