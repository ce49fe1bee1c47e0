"""The reading order of records: a pure function of the seed, the epoch and a split's layout.

A split's shards are dealt to B lanes: lane l owns the shards ≡ l (mod B). Epoch position p belongs
to lane p % B and is the (p // B)-th record of that lane's epoch order. Replica w of W takes the
positions ≡ w (mod W), so the records of a global batch are the same for every W that divides B.

Within an epoch each lane shuffles its shards, takes them in windows of a fixed number of shards,
and shuffles the records inside each window. So only one window of shards must be on local disk,
nothing is buffered, and resuming at any position is a slice.

NumPy promises no stability of its random streams, and a run could not resume with another order.
So a shuffled order is a sort of hashes: SplitMix64 of (key, index), ties by index.
"""

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import gcd

import numpy as np
from numpy.typing import NDArray

from audioloom_trainer.shards.layout import Layout

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


def key_of(*parts: str | int) -> int:
    """Make a 64-bit key from words and numbers; different tuples are hashed differently.

    Numbers are written in decimal. Words must not contain the separator "|".
    """
    text = "|".join(("audioloom.order.1", *map(str, parts)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


def permutation(key: int, count: int) -> NDArray[np.int64]:
    """Return the numbers 0 … count-1 in the order given by *key*: int64 (count,)."""
    index = np.arange(1, count + 1, dtype=np.uint64)
    with np.errstate(over="ignore"):  # SplitMix64 is arithmetic modulo 2**64
        mixed = np.uint64(key) + index * _GAMMA
        mixed = (mixed ^ (mixed >> np.uint64(30))) * _MIX_1
        mixed = (mixed ^ (mixed >> np.uint64(27))) * _MIX_2
    mixed ^= mixed >> np.uint64(31)
    return np.argsort(mixed, kind="stable").astype(np.int64, copy=False)


@dataclass(frozen=True)
class Shuffle:
    """The parameters of an epoch's order: equal shuffles give equal orders."""

    seed: int
    epoch: int
    window: int
    """Shards of a lane that are shuffled together."""

    def key(self, *parts: str | int) -> int:
        """Return the key of a part of the order."""
        return key_of(self.seed, self.epoch, *parts)


@dataclass(frozen=True, order=True)
class Window:
    """Shards read together: the records `start` … `start + count - 1` of one lane."""

    start: int
    lane: int
    count: int
    shards: tuple[int, ...]


class EpochOrder:
    """The reading order of one epoch of one split.

    Without a shuffle, every lane is read in its natural order, one shard at a time.
    """

    def __init__(self, layout: Layout, shuffle: Shuffle | None = None) -> None:
        self.layout = layout
        self.shuffle = shuffle
        self._windows: dict[int, tuple[Window, ...]] = {}
        # The rows of one window of each lane, concatenated, and the range of their indexes.
        self._kept: dict[int, NDArray[np.int64]] = {}
        self._rows = np.empty((0, 2), dtype=np.int64)
        self._first, self._counts, self._places = np.zeros((3, layout.lanes), dtype=np.int64)

    def windows(self, lane: int) -> tuple[Window, ...]:
        """Return the windows of *lane* in reading order."""
        if lane not in self._windows:
            self._windows[lane] = tuple(self._cut(lane))
        return self._windows[lane]

    def rows(self, window: Window) -> NDArray[np.int64]:
        """Return shard number and row in the shard of each record of *window*: (count, 2)."""
        counts = [self.layout.records[shard] for shard in window.shards]
        shards = np.repeat(np.array(window.shards, dtype=np.int64), counts)
        inside = np.concatenate([np.arange(count, dtype=np.int64) for count in counts])
        rows = np.stack([shards, inside], axis=1)
        if self.shuffle is None:
            return rows
        key = self.shuffle.key("records", window.lane, window.start)
        return rows[permutation(key, window.count)]

    def locate(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return shard number and row of each epoch position: (len(positions), 2)."""
        found = np.empty((len(positions), 2), dtype=np.int64)
        for here, rows in self.pieces(positions):
            found[here] = rows
        return found

    def pieces(
        self, positions: NDArray[np.int64], moved: Callable[[dict[int, Window]], object] = len
    ) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.int64]]]:
        """Yield which positions lie in the windows that are kept, one of each lane, and their rows.

        Positions may have any order. Ascending positions are fastest. When lanes move on to other
        windows, *moved* is called with these.
        """
        lanes, indexes = positions % self.layout.lanes, positions // self.layout.lanes
        missing = np.ones(len(positions), dtype=bool)
        while True:
            inside = indexes - self._first[lanes]
            here = missing & (inside >= 0) & (inside < self._counts[lanes])
            yield here, self._rows[self._places[lanes[here]] + inside[here]]
            missing &= ~here
            if not np.count_nonzero(missing):
                return
            windows = self._windows_at(lanes[missing], indexes[missing])
            moved(windows)
            self._keep(windows)

    def _windows_at(
        self, lanes: NDArray[np.int64], indexes: NDArray[np.int64]
    ) -> dict[int, Window]:
        """Return, for each lane, the window that holds its lowest index in *indexes*."""
        order = np.argsort(indexes, kind="stable")
        different, lowest = np.unique(lanes[order], return_index=True)
        windows = {}
        for lane, index in zip(different.tolist(), indexes[order][lowest].tolist(), strict=True):
            every = self.windows(lane)
            windows[lane] = every[bisect_right(every, index, key=lambda each: each.start) - 1]
        return windows

    def _keep(self, windows: dict[int, Window]) -> None:
        for lane, window in windows.items():
            self._kept[lane] = self.rows(window)
            self._first[lane], self._counts[lane] = window.start, window.count
        lengths = [len(rows) for rows in self._kept.values()]
        self._places[list(self._kept)] = np.cumsum([0, *lengths[:-1]])
        self._rows = np.concatenate(list(self._kept.values()))

    def _cut(self, lane: int) -> Iterator[Window]:
        shards = np.arange(lane, len(self.layout.records), self.layout.lanes, dtype=np.int64)
        size = 1
        if self.shuffle is not None:
            size = self.shuffle.window
            shards = shards[permutation(self.shuffle.key("shards", lane), len(shards))]
        start = 0
        for first in range(0, len(shards), size):
            taken = tuple(shards[first : first + size].tolist())
            count = sum(self.layout.records[shard] for shard in taken)
            yield Window(start, lane, count, taken)
            start += count


def replica_positions(
    step: int, *, batch: int, total: int, replica: int, replicas: int
) -> NDArray[np.int64]:
    """Return the epoch positions of *replica* of *replicas* in global batch *step*.

    The last batch of an epoch is short if *batch* does not divide *total*, and a replica may get no
    record.
    """
    first, stop = step * batch, min((step + 1) * batch, total)
    first += (replica - first) % replicas
    return np.arange(first, max(first, stop), replicas, dtype=np.int64)


def replica_lanes(lanes: int, mine: Iterable[int], replicas: int) -> list[int]:
    """Return the lanes that some of the replicas read; all if the numbers share no divisor."""
    step = gcd(lanes, replicas)
    read = {replica % step for replica in mine}
    return [lane for lane in range(lanes) if lane % step in read]


def allowed_replicas(lanes: int) -> tuple[int, ...]:
    """Return the numbers of replicas that give equal global batches: the divisors of *lanes*."""
    return tuple(number for number in range(1, lanes + 1) if lanes % number == 0)
