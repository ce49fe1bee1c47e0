"""`python -m audioloom_bench.fit_alone SHARDS --epochs N --batch-size N --seed N`: the yardstick.

The trainer's light network, trained by `tf_keras` in one process on the same shards with plain
tf.data: what anyone would write who has the files and nothing of audioloom's trainer. Prints one
JSON object, the accuracy of every other split.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from audioloom_manifest.kinds import ShardsManifest
from audioloom_manifest.reader import Opened, read_manifest


def main() -> None:
    """Train, score, print."""
    parser = argparse.ArgumentParser(prog="fit_alone", description=__doc__)
    parser.add_argument("shards", help="manifest of a shards run")
    parser.add_argument("--epochs", type=int, required=True)
    parser.add_argument("--batch-size", type=int, required=True)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    opened = read_manifest(asked.shards, expect="shards")
    scores = fit_alone(opened, asked.epochs, asked.batch_size, asked.seed)
    print(json.dumps({"accuracy": scores}))


def fit_alone(
    opened: Opened[ShardsManifest], epochs: int, batch: int, seed: int
) -> dict[str, float]:
    """Accuracy of each split but `train` after training on `train`.

    Args:
        opened: shards of float32 windows with labels.
        epochs: times that each record is seen.
        batch: records of a batch; the last one of an epoch may be short.
        seed: of the weights, the dropout and the order.
    """
    import tf_keras  # noqa: PLC0415

    from audioloom_bench.same_network import conv1d  # noqa: PLC0415

    stats = opened.manifest.stats
    tf_keras.utils.set_random_seed(seed)
    model = conv1d(tf_keras, tuple(stats.feature.shape), len(stats.labels))
    train = _batches(opened, "train", batch, shuffled=stats.splits["train"].records)
    model.fit(train, epochs=epochs, verbose=0)
    scores = {}
    for split in sorted(stats.splits.keys() - {"train"}):
        _, accuracy = model.evaluate(_batches(opened, split, batch), verbose=0)
        scores[split] = float(accuracy)
    return scores


def _batches(
    opened: Opened[ShardsManifest], split: str, batch: int, *, shuffled: int | None = None
) -> Any:
    import tensorflow as tf  # noqa: PLC0415

    feature = opened.manifest.stats.feature
    spec = {
        feature.name: tf.io.FixedLenFeature(feature.shape, tf.float32),
        "label_id": tf.io.FixedLenFeature([], tf.int64),
    }

    def parse(serialised: Any) -> Any:
        records = tf.io.parse_example(serialised, spec)
        return records[feature.name], records["label_id"]

    files = [
        str(Path((opened.folder / entry.path).path))
        for entry in opened.files("shard")
        if entry.split == split
    ]
    data = tf.data.TFRecordDataset(files)
    if shuffled:
        data = data.shuffle(shuffled)
    return data.batch(batch).map(parse)


if __name__ == "__main__":
    main()
