"""Windows to TFRecord files, in one process on one core: encode, frame, write.

Both lanes write the same features. The floor writes the same number of bytes.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from audioloom_sharder.example import Record, encode
from audioloom_sharder.tfrecord import frame
from numpy.typing import NDArray

from audioloom_bench.measure import Lane, measure

RECORDS = 200


def bench(rounds: int) -> list[Lane]:
    """Every lane on windows of 40 × 313 float32."""
    windows = np.random.default_rng(0).standard_normal((RECORDS, 40, 313)).astype("<f4")
    with tempfile.TemporaryDirectory(prefix="audioloom-bench-") as folder:
        target = Path(folder, "shard.tfrecord")
        ours(windows, target)
        same = target.read_bytes()
        return measure(
            {
                "naive": lambda: naive(windows, target),
                "audioloom": lambda: ours(windows, target),
                "floor": lambda: target.write_bytes(same),
            },
            amount=RECORDS,
            unit="records / core-s",
            input_name=f"{RECORDS} windows of 40 × 313 float32",
            rounds=rounds,
        )


def naive(windows: NDArray[Any], target: Path) -> None:
    """`tf.train.Example` from lists of floats, written by TensorFlow."""
    import tensorflow as tf  # noqa: PLC0415 - seconds of import that the other benchmarks save

    def text(value: str) -> Any:
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value.encode()]))

    with tf.io.TFRecordWriter(str(target)) as writer:
        for number, window in enumerate(windows):
            values = tf.train.FloatList(value=window.ravel().tolist())
            feature = {
                "file_path": text(f"calls/{number:06}.wav"),
                "label": text("speech"),
                "mfcc": tf.train.Feature(float_list=values),
            }
            example = tf.train.Example(features=tf.train.Features(feature=feature))
            writer.write(example.SerializeToString())


def ours(windows: NDArray[Any], target: Path) -> None:
    """What the sharder's tasks do with each window."""
    with target.open("wb") as sink:
        for number, window in enumerate(windows):
            record = Record(
                channel=-1,
                group="g",
                label="speech",
                label_id=0,
                mfcc=window.tobytes(),
                path=f"calls/{number:06}.wav",
                target=None,
                valid_frames=313,
                window=0,
            )
            payload, _ = encode(record, "float_list")
            sink.write(frame(payload))
