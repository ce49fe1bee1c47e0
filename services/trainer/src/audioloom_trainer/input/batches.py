"""The batches of one worker: features and targets of its replicas' share of each global batch.

All results are pure functions of the split, the shuffle, the step and the replicas. `Staging`
brings the shards to local disk.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from math import gcd
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from audioloom_trainer.input.record_reader import Features, LocalShard, Records, Targets
from audioloom_trainer.input.sampler import (
    EpochOrder,
    Shuffle,
    Window,
    replica_lanes,
    replica_positions,
)
from audioloom_trainer.input.staging import Staging
from audioloom_trainer.shards.shard_set import Shard, Split


@dataclass(frozen=True)
class Replicas:
    """The replicas of this process: `count` of `total`, from number `first` on."""

    first: int = 0
    count: int = 1
    total: int = 1

    @property
    def numbers(self) -> range:
        """The numbers of the replicas of this process."""
        return range(self.first, self.first + self.count)


class Batch(NamedTuple):
    """The records of this process's replicas in one step, replica by replica.

    A replica that gets no record of a short last batch gets one that does not count, because
    layers do not support empty batches.
    """

    features: Features
    """(rows, *shape)."""
    targets: Targets
    """(rows,)."""
    bounds: NDArray[np.int32]
    """(count + 1,): replica i of this process has the rows bounds[i] … bounds[i + 1] - 1."""
    counts: NDArray[np.int32]
    """(count,): how many of its rows count; all of them, or none."""
    total: np.float32
    """Records of the global batch."""


def steps_of(records: int, batch: int) -> int:
    """Return the number of global batches in an epoch; the last batch may be short."""
    return -(-records // batch)


def shares(split: Split, replicas: Replicas, *, batch: int, step: int) -> list[NDArray[np.int64]]:
    """Return each local replica's epoch positions in the global batch of a step."""
    return [
        replica_positions(
            step, batch=batch, total=split.layout.total, replica=replica, replicas=replicas.total
        )
        for replica in replicas.numbers
    ]


def needed_shards(
    split: Split, shuffle: Shuffle | None, replicas: Replicas, *, batch: int, start: int = 0
) -> Iterator[Shard]:
    """Yield the shards of an epoch from a step on, as a `BatchReader` holds them."""
    order = EpochOrder(split.layout, shuffle)
    first = max(0, start - 1) * batch  # a reader also holds the step before its first
    lanes, total = split.layout.lanes, replicas.total
    read = replica_lanes(lanes, replicas.numbers, total)
    turns = total // gcd(lanes, total)  # after so many records of a lane, its replicas repeat
    for window in sorted(window for lane in read for window in order.windows(lane)):
        end = window.start + window.count
        last = range(max(window.start, end - turns), end)
        positions = (window.lane + lanes * index for index in last)
        if any(each >= first and each % total in replicas.numbers for each in positions):
            yield from (split.shards[number] for number in window.shards)


def least_cache(split: Split, window: int, replicas: Replicas) -> int:
    """Return the bytes that hold a window of each lane that the replicas of a process read."""
    lanes = split.layout.lanes
    read = len(replica_lanes(lanes, replicas.numbers, replicas.total))
    held = read * min(window, len(split.shards) // lanes)
    return held * max(shard.bytes for shard in split.shards)


@dataclass
class BatchReader:
    """The batches of one epoch of one split, from any step on.

    The `needs` of the staging must follow the order of `needed_shards`.
    """

    split: Split
    shuffle: Shuffle | None
    batch: int
    replicas: Replicas
    staging: Staging

    def __post_init__(self) -> None:
        self._order = EpochOrder(self.split.layout, self.shuffle)
        self._windows: dict[int, Window] = {}
        self._local: dict[int, LocalShard] = {}
        self._records: Records

    def batches(self, start: int = 0) -> Iterator[Batch]:
        """Yield every batch from step *start* to the end of the epoch."""
        steps = steps_of(self.split.layout.total, self.batch)
        try:
            if start:  # a short last batch may have to repeat these
                self._gather(np.concatenate(self._shares(start - 1)))
            for step in range(start, steps):
                yield self._batch_of(step)
        finally:
            for lane in list(self._windows):
                self._let_go(lane)

    def _batch_of(self, step: int) -> Batch:
        parts = self._shares(step)
        counts = [len(part) for part in parts]
        if 0 in counts and step:  # of each lane, the window of its last record is still held
            lanes, before = self.split.layout.lanes, self._shares(step - 1)
            known = np.sort(np.concatenate(before))
            parts = [
                part if len(part) else known[np.isin(known % lanes, own[-1:] % lanes)][-1:]
                for part, own in zip(parts, before, strict=True)
            ]
        features, targets = self._gather(np.concatenate(parts))
        sizes = [len(part) for part in parts]
        if 0 in sizes:  # the epoch has one batch only: none to repeat
            at = np.cumsum([0, *sizes[:-1]])[np.array(sizes) == 0]
            features, targets = np.insert(features, at, 0, axis=0), np.insert(targets, at, 0)
            sizes = [max(1, size) for size in sizes]
        return Batch(
            features,
            targets,
            np.array([0, *accumulate(sizes)], dtype=np.int32),
            np.array(counts, dtype=np.int32),
            np.float32(min(self.batch, self.split.layout.total - step * self.batch)),
        )

    def _shares(self, step: int) -> list[NDArray[np.int64]]:
        return shares(self.split, self.replicas, batch=self.batch, step=step)

    def _gather(self, positions: NDArray[np.int64]) -> tuple[Features, Targets]:
        """Return features and targets of positions; no lane is ever read backwards."""
        parts = [
            (here, self._records.gather(rows))
            for here, rows in self._order.pieces(positions, self._move_on)
            if len(rows)
        ]
        if len(parts) == 1:
            return parts[0][1]
        shard_set = self.staging.shard_set
        features = np.empty((len(positions), *shard_set.shape), dtype=shard_set.dtype)
        targets = np.empty(len(positions), dtype=shard_set.target_dtype)
        for here, found in parts:
            features[here], targets[here] = found
        return features, targets

    def _move_on(self, windows: dict[int, Window]) -> None:
        """Release the windows of these lanes before the wait for the next ones.

        So the cache needs room for only one window of each lane.
        """
        for lane in windows:
            self._let_go(lane)
        for window in sorted(windows.values()):
            shards = [self.split.shards[number] for number in window.shards]
            self._local.update(self.staging.hold(shards))
            self._windows[window.lane] = window
        shard_set = self.staging.shard_set
        self._records = Records(self._local, shape=shard_set.shape, dtype=shard_set.dtype)

    def _let_go(self, lane: int) -> None:
        window = self._windows.pop(lane, None)
        if window is not None:
            for number in window.shards:
                del self._local[number]
            self.staging.release(self.split.shards[number] for number in window.shards)
