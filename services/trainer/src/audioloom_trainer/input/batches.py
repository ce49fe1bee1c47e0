"""The batches of one worker: features and targets of its replicas' share of each global batch.

All results are pure functions of the split, the shuffle, the step and the replicas. `Staging`
brings the shards to local disk.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from audioloom_trainer.input.record_reader import Features, LocalShard, Targets, gather
from audioloom_trainer.input.sampler import (
    EpochOrder,
    Shuffle,
    Window,
    reading_order,
    replica_lanes,
    replica_positions,
)
from audioloom_trainer.input.staging import Staging
from audioloom_trainer.shards.shard_set import Shard, ShardSet, Split


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
    """Yield the shards of an epoch in the order in which a `BatchReader` holds them.

    Args:
        split: the split to read.
        shuffle: the order of the epoch.
        replicas: the replicas of this process.
        batch: records of a global batch.
        start: the first step to read.
    """
    order = EpochOrder(split.layout, shuffle)
    first = max(0, start - 1) * batch  # a reader also holds the step before its first
    for window in reading_order(order, _lanes(split, replicas)):
        if _reads(window, split.layout.lanes, replicas, first):
            yield from (split.shards[number] for number in window.shards)


def _lanes(split: Split, replicas: Replicas) -> list[int]:
    parts = (replica_lanes(split.layout.lanes, w, replicas.total) for w in replicas.numbers)
    return sorted({lane for part in parts for lane in part})


def _reads(window: Window, lanes: int, replicas: Replicas, first: int) -> bool:
    positions = window.lane + lanes * np.arange(window.start, window.start + window.count)
    if lanes % replicas.total == 0:  # then only one replica reads each lane
        return bool(positions[-1] >= first)
    return bool(
        (np.isin(positions % replicas.total, replicas.numbers) & (positions >= first)).any()
    )


class BatchReader:
    """The batches of one epoch of one split, from any step on.

    Args:
        shard_set: the shards of the split.
        split: the split to read.
        shuffle: the order of the epoch; None reads in the natural order.
        batch: records of a global batch.
        replicas: the replicas of this process.
        staging: holds the shards; its `needs` must follow the order of `needed_shards`.
    """

    def __init__(
        self,
        shard_set: ShardSet,
        split: Split,
        shuffle: Shuffle | None,
        *,
        batch: int,
        replicas: Replicas,
        staging: Staging,
    ) -> None:
        self._set = shard_set
        self._split = split
        self._batch = batch
        self._replicas = replicas
        self._staging = staging
        self._order = EpochOrder(split.layout, shuffle)
        self._windows: dict[int, Window] = {}
        self._ends = np.zeros(split.layout.lanes, dtype=np.int64)
        self._local: dict[int, LocalShard] = {}

    def batches(self, start: int = 0) -> Iterator[Batch]:
        """Yield every batch from step *start* to the end of the epoch."""
        steps = steps_of(self._split.layout.total, self._batch)
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
        if 0 in counts and step:
            before = self._shares(step - 1)
            parts = [part if len(part) else before[i][-1:] for i, part in enumerate(parts)]
        features, targets = self._gather(np.concatenate(parts))
        sizes = [len(part) for part in parts]
        if 0 in sizes:  # the epoch has one batch only: none to repeat
            features, targets, sizes = _with_blanks(features, targets, sizes)
        return Batch(
            features,
            targets,
            np.cumsum([0, *sizes], dtype=np.int32),
            np.array(counts, dtype=np.int32),
            np.float32(min(self._batch, self._split.layout.total - step * self._batch)),
        )

    def _shares(self, step: int) -> list[NDArray[np.int64]]:
        return shares(self._split, self._replicas, batch=self._batch, step=step)

    def _gather(self, positions: NDArray[np.int64]) -> tuple[Features, Targets]:
        """Return features and targets of positions that ascend within each lane.

        A lane's window is released before the wait for its next one, so the cache needs room for
        only one window of each lane.
        """
        lanes = positions % self._split.layout.lanes
        inside = positions // self._split.layout.lanes
        missing = np.ones(len(positions), dtype=bool)
        features = np.empty((len(positions), *self._set.shape), dtype=self._set.dtype)
        kind = np.float32 if self._set.classes is None else np.int32
        targets = np.empty(len(positions), dtype=kind)
        while True:
            here = missing & (inside < self._ends[lanes])
            rows = self._order.locate(positions[here])
            found = gather(self._local, rows, shape=self._set.shape, dtype=self._set.dtype)
            if here.all():
                return found
            features[here], targets[here] = found
            missing &= ~here
            if not missing.any():
                return features, targets
            self._move_on(positions[missing])

    def _move_on(self, positions: NDArray[np.int64]) -> None:
        """Release the windows before these positions, then hold the windows that contain them."""
        first: dict[int, int] = {}
        for position in np.sort(positions).tolist():
            first.setdefault(position % self._split.layout.lanes, position)
        for lane in first:
            self._let_go(lane)
        for lane, position in first.items():
            window = self._order.window_at(lane, position // self._split.layout.lanes)
            shards = [self._split.shards[number] for number in window.shards]
            self._local.update(self._staging.hold(shards))
            self._windows[lane] = window
            self._ends[lane] = window.start + window.count

    def _let_go(self, lane: int) -> None:
        window = self._windows.pop(lane, None)
        if window is not None:
            for number in window.shards:
                del self._local[number]
            self._staging.release(self._split.shards[number] for number in window.shards)


def _with_blanks(
    features: Features, targets: Targets, sizes: list[int]
) -> tuple[Features, Targets, list[int]]:
    at = np.cumsum([0, *sizes[:-1]])[np.array(sizes) == 0]
    filled = np.insert(features, at, 0, axis=0), np.insert(targets, at, 0)
    return *filled, [max(1, size) for size in sizes]
