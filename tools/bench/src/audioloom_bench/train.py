"""An epoch of shards, and of training on them, in one process with one thread.

Naive is what a competent team writes first: `list_files`, interleave, `shuffle(10000)`, records
parsed one by one, `Model.fit` of tf_keras. All lanes train the same network on batches of the same
size. The floor of feeding copies the values; that of training steps on batches that lie in memory.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from audioloom_bench.made_shards import CLASSES, SHAPE, made_shards
from audioloom_bench.measure import Lane, measure
from audioloom_bench.same_network import conv1d

RECORDS, BATCH, BLOCK = 1920, 64, 10
STEPS = RECORDS // BATCH
UNIT = "examples / core-s"


def bench(rounds: int) -> list[Lane]:
    """Feeding alone, then training."""
    from audioloom_trainer.strategy import set_up_tensorflow  # noqa: PLC0415

    set_up_tensorflow(threads=1, deterministic=False, seed=0)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="audioloom-bench-")))
        shard_set = made_shards(folder, RECORDS)
        epochs = Epochs(shard_set, stack)
        feeding = measure(
            {
                "naive": lambda: drain(naive_batches(folder)),
                "audioloom": lambda: drain(epochs.stream()),
                "floor": copying(),
            },
            amount=RECORDS,
            unit=UNIT,
            input_name=f"feeding {RECORDS} windows of 40 × 313",
            rounds=rounds,
        )
        training = measure(
            {
                "naive": naive_training(folder),
                "audioloom": our_training(epochs.stream),
                "floor": our_training(in_memory),
            },
            amount=RECORDS,
            unit=UNIT,
            input_name="training the light Conv1D network on them",
            rounds=rounds,
        )
        return feeding + training


class Epochs:
    """The trainer's feed, an epoch at a time; shards are verified once, as in a training."""

    def __init__(self, shard_set: Any, stack: ExitStack) -> None:
        from audioloom_trainer.feed import Replicas, needed_shards  # noqa: PLC0415
        from audioloom_trainer.order import Shuffle  # noqa: PLC0415
        from audioloom_trainer.staging import Staging  # noqa: PLC0415

        self._set, self._split = shard_set, shard_set.split("train")
        self._alone = Replicas()
        self._shuffles = (Shuffle(0, epoch, 8) for epoch in count())
        needs = (
            shard
            for epoch in count()
            for shard in needed_shards(self._split, Shuffle(0, epoch, 8), self._alone, batch=BATCH)
        )
        self._staging = stack.enter_context(Staging(shard_set, needs, cache=None, patience=0))

    def stream(self) -> Iterator[Any]:
        """The batches of the next epoch, as the training loop gets them."""
        from audioloom_trainer.feed import Feed  # noqa: PLC0415
        from audioloom_trainer.loop import stream  # noqa: PLC0415

        feed = Feed(
            self._set,
            self._split,
            next(self._shuffles),
            batch=BATCH,
            replicas=self._alone,
            staging=self._staging,
        )
        batches: Iterator[Any] = stream(feed.batches, SHAPE, "float32", numbers=False)
        return batches


def drain(batches: Any) -> None:
    """Take every batch, and make sure that there were as many as there should be."""
    taken = sum(1 for _ in batches)
    if taken != STEPS:
        raise RuntimeError(f"expected {STEPS} batches, found {taken}")


def copying() -> Any:
    """The floor of feeding: every value copied once, a batch at a time."""
    values = np.random.default_rng(0).standard_normal((RECORDS, *SHAPE)).astype(np.float32)

    def copy() -> None:
        for step in range(STEPS):
            values[step * BATCH : (step + 1) * BATCH].copy()

    return copy


def naive_batches(folder: Path) -> Any:
    """The input pipeline of a first draft, shared out by `AutoShardPolicy.DATA`."""
    import tensorflow as tf  # noqa: PLC0415

    spec = {
        "mfcc": tf.io.FixedLenFeature(SHAPE, tf.float32),
        "label_id": tf.io.FixedLenFeature([], tf.int64),
    }

    def parse(record: Any) -> Any:
        example = tf.io.parse_single_example(record, spec)
        return example["mfcc"], example["label_id"]

    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    return (
        tf.data.Dataset.list_files(str(folder / "*.tfrecord"))
        .interleave(tf.data.TFRecordDataset, num_parallel_calls=tf.data.AUTOTUNE)
        .shuffle(10_000)
        .map(parse, num_parallel_calls=tf.data.AUTOTUNE)
        .batch(BATCH)
        .prefetch(tf.data.AUTOTUNE)
        .with_options(options)
    )


def naive_training(folder: Path) -> Any:
    """An epoch of `Model.fit`."""
    import tf_keras  # noqa: PLC0415

    model, data = conv1d(tf_keras, SHAPE, CLASSES), naive_batches(folder)
    return lambda: model.fit(data, epochs=1, verbose=0)


def our_training(batches: Any) -> Any:
    """An epoch of the trainer's loop, over the iterator that *batches* makes."""
    import tensorflow as tf  # noqa: PLC0415
    from audioloom_trainer.feed import Replicas  # noqa: PLC0415
    from audioloom_trainer.loop import make_train_block  # noqa: PLC0415
    from audioloom_trainer.model import build_model  # noqa: PLC0415
    from audioloom_trainer.model_source import find_model  # noqa: PLC0415
    from audioloom_trainer.settings import DEFAULT_MODEL  # noqa: PLC0415

    model = build_model(
        find_model(DEFAULT_MODEL), shape=SHAPE, classes=CLASSES, arguments={}, replicas=1
    )
    block = make_train_block(tf.distribute.get_strategy(), model, Replicas(), idle=False)

    def epoch() -> None:
        iterator = batches()
        for _ in range(STEPS // BLOCK):
            block(iterator, BLOCK, [])

    return epoch


def in_memory() -> Any:
    """The floor's batches: one, made beforehand, over and over."""
    import tensorflow as tf  # noqa: PLC0415

    random = np.random.default_rng(0)
    batch = (
        random.standard_normal((BATCH, *SHAPE)).astype(np.float32),
        random.integers(CLASSES, size=BATCH).astype(np.int32),
        np.array([0, BATCH], dtype=np.int32),
        np.array([BATCH], dtype=np.int32),
        np.float32(BATCH),
    )
    return iter(tf.data.Dataset.from_tensors(batch).repeat(STEPS))
