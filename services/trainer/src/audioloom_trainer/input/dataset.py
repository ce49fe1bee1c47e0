"""Batches as tensors, passed to TensorFlow ahead of the steps that compute on them."""

import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import tensorflow as tf
from numpy.typing import NDArray

from audioloom_trainer.input.batches import Batch
from audioloom_trainer.input.record_reader import is_aligned
from audioloom_trainer.shards.shard_set import ShardSet

_PREFETCH = 8


class BatchStream:
    """Batches as tensors, which a thread passes to TensorFlow while a step computes.

    A queue of TensorFlow holds them. A dataset is not used: one that calls Python takes 20 ms to
    make, as long as an epoch of a thousand records, and a batch goes through five threads on its
    way; `Dataset.from_generator`, as of TensorFlow 2.21, also makes malloc return every batch's
    memory to the system.

    After so many *steps* there is one more batch, a blank one, which nobody computes on. If the
    batches fail or end before, those that came are there, and `tf.errors.OutOfRangeError` follows.
    """

    def __init__(self, batches: Iterator[Batch], steps: int, shard_set: ShardSet) -> None:
        self.signature = (
            tf.TensorSpec((None, *shard_set.shape), shard_set.dtype),
            tf.TensorSpec((None,), shard_set.target_dtype),
            tf.TensorSpec((None,), tf.int32),
            tf.TensorSpec((None,), tf.int32),
            tf.TensorSpec((), tf.float32),
        )
        blank = [tf.zeros([size or 0 for size in s.shape], s.dtype) for s in self.signature]
        with tf.device("CPU:0"):
            queue = tf.queue.FIFOQueue(_PREFETCH, [spec.dtype for spec in self.signature])
        self.queue = queue.queue_ref
        """The handle of the queue, for `dequeue`."""
        self.batch: tuple[Any, ...] | None = None
        """The one in hand; None before the first."""
        arguments = (queue, batches, steps, blank)
        threading.Thread(target=_fill, args=arguments, name="feed", daemon=True).start()
        end = weakref.finalize(self, queue.close, cancel_pending_enqueues=True)
        end.atexit = False  # then TensorFlow ends too


def dequeue(queue: Any, signature: Sequence[Any]) -> tuple[Any, ...]:
    """Take the next batch from the queue of a stream with that signature, in a graph too."""
    dtypes = [spec.dtype for spec in signature]
    batch = tf.raw_ops.QueueDequeueV2(handle=queue, component_types=dtypes)
    for tensor, spec in zip(batch, signature, strict=True):
        if not tf.executing_eagerly():
            tensor.set_shape(spec.shape)
    return tuple(batch)


def _fill(queue: Any, batches: Iterator[Batch], steps: int, blank: list[Any]) -> None:
    """Pass so many batches and a blank one to a queue, until nobody wants more."""
    about: tuple[Any, ...] = ()
    known: list[Any] = []  # `about` as tensors, which hardly ever changes
    try:
        with tf.device("CPU:0"):
            for step in range(steps):
                features, targets, bounds, counts, total = next(batches)
                if step == steps - 1:  # let the generator end and release its shards
                    next(batches, None)
                if about != (here := (bounds.tobytes(), counts.tobytes(), total)):
                    about, known = here, [tf.constant(each) for each in (bounds, counts, total)]
                tensors = [_tensor(features), _tensor(targets), *known]
                tf.raw_ops.QueueEnqueueV2(handle=queue.queue_ref, components=tensors)
                del features, targets, tensors
            queue.enqueue(blank)
    except BaseException:  # noqa: BLE001, S110
        # A failure of the reader is for its maker to tell; or nobody reads the stream any more.
        pass
    finally:
        with suppress(tf.errors.CancelledError):  # it is closed already
            queue.close()


def _tensor(array: NDArray[Any]) -> Any:
    """Make a tensor of an array, without a copy where its memory is aligned."""
    if is_aligned(array):  # `tf.constant` copies always
        return tf.experimental.dlpack.from_dlpack(array.__dlpack__())
    return tf.constant(array)
