"""Feeding alone: the batches of an epoch, in processes of one thread.

Naive is what a competent team writes first: `list_files`, interleave, `shuffle(10000)`, records
parsed one by one. The floor copies the values.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import cache
from typing import Any

import numpy as np

from audioloom_bench.made_shards import SHAPE
from audioloom_bench.measure import FLOOR, NAIVE, Lane
from audioloom_bench.training.figures import OURS, figures
from audioloom_bench.training.pipelines import BATCH, Epochs, files_of, good_batches, naive_batches
from audioloom_bench.training.team import Work, interleaved, team

INPUT = "feeding windows of 40 × 313"
GOOD = "tf.data, good"
LEAST = 25_000
"""Records of a processor's second; less is a failure. The aim is twice as many."""


def lanes(manifest: str, steps: int, rounds: int) -> list[Lane]:
    """Records of a processor's second."""
    records = steps * BATCH
    with ExitStack() as stack:
        found = interleaved(
            {
                NAIVE: stack.enter_context(team(naively, manifest, records)),
                GOOD: stack.enter_context(team(well, manifest, records)),
                OURS: stack.enter_context(team(feed, manifest, records)),
                FLOOR: stack.enter_context(team(copying, records)),
            },
            rounds,
        )
    cpu = {name: [each.cpu for each in taken] for name, taken in found.items()}
    return figures(cpu, INPUT, "records / core-s", amount=records)


def shortfall(lanes: Sequence[Lane]) -> list[str]:
    """What is too slow."""
    return [
        f"{lane.input}: {lane.value:,.0f} records a processor's second, expected at least {LEAST:,}"
        for lane in lanes
        if lane.input == INPUT and lane.lane == OURS and lane.value < LEAST
    ]


def naively(manifest: str, records: int) -> Work:
    """By the naive pipeline."""
    _one_thread()
    data = naive_batches(files_of(manifest))
    return lambda: drain(data, records)


def well(manifest: str, records: int) -> Work:
    """By the better one, which does not shuffle."""
    _one_thread()
    data = good_batches(files_of(manifest))
    return lambda: drain(data, records)


def feed(manifest: str, records: int) -> Work:
    """By the trainer, through to what its loop iterates over."""
    _one_thread()
    epochs = Epochs(manifest)

    def take_all() -> None:
        stream = epochs.stream()
        _taking_all(stream.signature)(stream.queue, np.int32(steps_of(records)))

    return take_all


def copying(records: int) -> Work:
    """Every value copied once, a batch at a time."""
    values = np.random.default_rng(0).standard_normal((records, *SHAPE), dtype=np.float32)

    def copy() -> None:
        for start in range(0, records, BATCH):
            values[start : start + BATCH].copy()

    return copy


def drain(batches: Any, records: int) -> None:
    """Take every batch inside a function of TensorFlow, as loops that train do.

    Raises:
        tf.errors.OutOfRangeError: there are fewer than there should be.
    """
    _taking()(iter(batches), steps_of(records))


@cache
def _taking() -> Any:
    import tensorflow as tf  # noqa: PLC0415

    def take(batches: Any, number: int) -> None:
        for _ in tf.range(number):
            next(batches)

    return tf.function(take)


@cache
def _taking_all(signature: Any) -> Any:
    import tensorflow as tf  # noqa: PLC0415
    from audioloom_trainer.input.dataset import dequeue  # noqa: PLC0415

    def take(queue: Any, number: Any) -> None:
        for _ in tf.range(number):
            dequeue(queue, signature)

    return tf.function(take)


def steps_of(records: int) -> int:
    """Batches that so many records make."""
    return -(-records // BATCH)


def _one_thread() -> None:
    from audioloom_trainer.distributed.strategy import set_up_tensorflow  # noqa: PLC0415

    set_up_tensorflow(threads=1, deterministic=True, seed=0)
