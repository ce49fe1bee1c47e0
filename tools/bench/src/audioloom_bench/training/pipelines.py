"""What the lanes read: two pipelines of tf.data, the trainer's feed, and batches in memory."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from itertools import count, islice, repeat
from pathlib import Path
from typing import Any

import numpy as np

from audioloom_bench.made_shards import CLASSES, SHAPE

BATCH, WINDOW = 64, 8


def files_of(manifest: str) -> list[str]:
    """The shards of a run on local disk."""
    return sorted(map(str, (Path(manifest).parent / "shards").glob("*.tfrecord")))


def naive_batches(files: list[str]) -> Any:
    """The input pipeline of a first draft, shared out by `AutoShardPolicy.DATA`."""
    import tensorflow as tf  # noqa: PLC0415

    def parse(record: Any) -> Any:
        example = tf.io.parse_single_example(record, _spec())
        return example["mfcc"], example["label_id"]

    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    return (
        tf.data.Dataset.list_files(files)
        .interleave(tf.data.TFRecordDataset, num_parallel_calls=tf.data.AUTOTUNE)
        .shuffle(10_000)
        .map(parse, num_parallel_calls=tf.data.AUTOTUNE)
        .batch(BATCH)
        .prefetch(tf.data.AUTOTUNE)
        .with_options(options)
    )


def good_batches(files: list[str], batch: int = BATCH) -> Any:
    """What who knows tf.data writes: whole batches are parsed, and nothing is shuffled."""
    import tensorflow as tf  # noqa: PLC0415

    def parse(records: Any) -> Any:
        examples = tf.io.parse_example(records, _spec())
        return examples["mfcc"], examples["label_id"]

    return (
        tf.data.TFRecordDataset(files, buffer_size=1 << 20)
        .batch(batch)
        .map(parse, num_parallel_calls=tf.data.AUTOTUNE)
        .prefetch(tf.data.AUTOTUNE)
    )


def _spec() -> dict[str, Any]:
    import tensorflow as tf  # noqa: PLC0415

    return {
        "mfcc": tf.io.FixedLenFeature(SHAPE, tf.float32),
        "label_id": tf.io.FixedLenFeature([], tf.int64),
    }


class Epochs:
    """The trainer's feed, an epoch at a time; shards are verified once, as in a training.

    Args:
        manifest: of the shards.
        replicas: those of this process; by default it is alone.
        cache: where copies go; None reads shards where they lie.
        window: shards of a lane that are shuffled together.
        needed: how many epochs; by default there is no end of them.
    """

    def __init__(
        self,
        manifest: str,
        *,
        replicas: Any = None,
        cache: Any = None,
        window: int = WINDOW,
        needed: int | None = None,
    ) -> None:
        from audioloom_manifest.reader import read_manifest  # noqa: PLC0415
        from audioloom_trainer.input.batches import Replicas, needed_shards  # noqa: PLC0415
        from audioloom_trainer.input.sampler import Shuffle  # noqa: PLC0415
        from audioloom_trainer.input.staging import Staging  # noqa: PLC0415
        from audioloom_trainer.shards.shard_set import open_shards  # noqa: PLC0415

        self.set = open_shards(read_manifest(manifest, expect="shards"))
        self.split = self.set.split("train")
        self.replicas = replicas or Replicas()
        self._shuffles = (Shuffle(0, epoch, window) for epoch in count())
        needs = (
            shard
            for epoch in islice(count(), needed)
            for shard in needed_shards(
                self.split, Shuffle(0, epoch, window), self.replicas, batch=BATCH
            )
        )
        self._staging = Staging(self.set, needs, cache=cache)
        self._staging.__enter__()

    def batches(self) -> Callable[..., Iterator[Any]]:
        """The next epoch's, as the trainer's feed makes them; from a step on, if one is given."""
        from audioloom_trainer.input.batches import BatchReader  # noqa: PLC0415

        feed = BatchReader(
            self.split,
            next(self._shuffles),
            batch=BATCH,
            replicas=self.replicas,
            staging=self._staging,
        )
        return feed.batches

    def stream(self) -> Any:
        """The next epoch's, as the trainer's loop gets them."""
        from audioloom_trainer.input.batches import steps_of  # noqa: PLC0415
        from audioloom_trainer.input.dataset import BatchStream  # noqa: PLC0415

        steps = steps_of(self.split.layout.total, BATCH)
        return BatchStream(self.batches()(), steps, self.set)

    def endless_stream(self, late_s: float = 0.0) -> Any:
        """Those of all epochs, one after the other, each so many seconds later."""
        from audioloom_trainer.input.dataset import BatchStream  # noqa: PLC0415

        def batches() -> Iterator[Any]:
            while True:
                for batch in self.batches()():
                    if late_s:  # to sleep no time gives way to other threads too
                        time.sleep(late_s)
                    yield batch

        return BatchStream(batches(), sys.maxsize, self.set)

    def close(self) -> None:
        """Stop reading ahead."""
        self._staging.__exit__(None, None, None)


def in_memory() -> Any:
    """The floor's: one batch, made beforehand, over and over."""
    from audioloom_trainer.input.batches import Batch  # noqa: PLC0415
    from audioloom_trainer.input.dataset import BatchStream  # noqa: PLC0415
    from audioloom_trainer.shards.shard_set import ShardSet  # noqa: PLC0415

    random = np.random.default_rng(0)
    batch = Batch(
        random.standard_normal((BATCH, *SHAPE), dtype=np.float32),
        random.integers(CLASSES, size=BATCH).astype(np.int32),
        np.array([0, BATCH], dtype=np.int32),
        np.array([BATCH], dtype=np.int32),
        np.float32(BATCH),
    )
    of = ShardSet(SHAPE, "float32", tuple(map(str, range(CLASSES))), {})
    return BatchStream(repeat(batch), sys.maxsize, of)
