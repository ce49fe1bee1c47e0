"""Streams of batches: to their end, given up, or with a reader that fails."""

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from audioloom_trainer.input.batches import Batch
from audioloom_trainer.shards.shard_set import ShardSet

SHAPE = (4, 3)
SET = ShardSet(SHAPE, "float32", ("a", "b"), {})
ROWS = 2

pytestmark = pytest.mark.usefixtures("tensorflow")


def numbered(*targets: int, ended: threading.Event | None = None) -> Iterator[Batch]:
    """A batch for each number, which is the target of all its records."""
    try:
        for target in targets:
            yield Batch(
                np.full((ROWS, *SHAPE), target, np.float32),
                np.full(ROWS, target, np.int32),
                np.array([0, ROWS], np.int32),
                np.array([ROWS], np.int32),
                np.float32(ROWS),
            )
    finally:
        if ended is not None:
            ended.set()


def stream(batches: Iterator[Batch], steps: int) -> Any:
    from audioloom_trainer.input.dataset import BatchStream

    return BatchStream(batches, steps, SET)


def taken(stream: Any, number: int) -> list[int]:
    """The targets of the next batches, by the first record; -1 for a blank one."""
    from audioloom_trainer.input.dataset import dequeue

    found = (dequeue(stream.queue, stream.signature)[1].numpy().tolist() for _ in range(number))
    return [targets[0] if targets else -1 for targets in found]


def test_streams_are_read_in_turn() -> None:
    """Each has its own batches, more of them than are passed ahead."""
    one, other = stream(numbered(*range(30)), 30), stream(numbered(*range(50, 53)), 3)
    assert [0, 1] == taken(one, 2)
    assert [50, 51, 52] == taken(other, 3)
    assert [*range(2, 30)] == taken(one, 28)


def test_a_blank_batch_follows_the_last_one() -> None:
    """A block takes one more than it computes on; the reader has ended before the last one."""
    ended = threading.Event()
    read = stream(numbered(7, 8, ended=ended), 2)
    assert [7, 8] == taken(read, 2)
    assert ended.is_set()
    assert [-1] == taken(read, 1)


def test_a_stream_that_is_given_up_lets_its_reader_go() -> None:
    """Nothing holds shards for a stream that nobody reads any more."""
    ended = threading.Event()
    read = stream(numbered(*range(100), ended=ended), 100)
    assert [0] == taken(read, 1)
    del read
    assert ended.wait(60)


@pytest.mark.parametrize("before", [0, 1, 20])
def test_a_stream_ends_where_its_reader_fails(before: int) -> None:
    """After the batches that came; the first one may be the one that fails."""
    import tensorflow as tf

    def broken() -> Iterator[Batch]:
        yield from numbered(*range(before))
        raise OSError("the disk is gone")

    read = stream(broken(), 40)
    assert [*range(before)] == taken(read, before)
    with pytest.raises(tf.errors.OutOfRangeError):
        taken(read, 1)


def test_features_are_not_copied() -> None:
    """TensorFlow reads aligned arrays where they lie."""
    from audioloom_trainer.input.dataset import dequeue
    from audioloom_trainer.input.record_reader import aligned

    (batch,) = numbered(1)
    features = aligned(batch.features.nbytes).view(np.float32).reshape(batch.features.shape)
    read = stream(iter([batch._replace(features=features)]), 1)
    found = dequeue(read.queue, read.signature)[0]
    features[:] = 5
    assert (found.numpy() == 5).all()
