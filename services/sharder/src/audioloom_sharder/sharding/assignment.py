"""Where a record goes: rank → shard and position; lanes and replicas; how many shards.

Within a split the records are ranked 0 … T-1 by a keyed hash (`keys`). Rank ``k`` lies in shard
``k % n`` at position ``k // n``, so shards differ by at most one record and the longer ones come
first. ``n`` is a multiple of the split's lanes ``B``: lane ``l`` owns the shards ``≡ l (mod B)``.

Epoch position ``p`` belongs to lane ``p % B``, and replica ``w`` of ``W`` takes the positions
``≡ w (mod W)``. As ``n`` is a multiple of ``B``, the ranks of lane ``l`` are those ``≡ l (mod B)``,
exactly as many as it has positions. Hence the set of records in every global batch is the same
for every ``W`` that divides ``B``, and replicas differ by at most one record.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Place(NamedTuple):
    """Shard numbers and positions within the shard, element by element."""

    shard: NDArray[np.int64]
    position: NDArray[np.int64]


def divisors(number: int) -> tuple[int, ...]:
    """Every divisor of *number*, ascending."""
    return tuple(d for d in range(1, number + 1) if number % d == 0)


def lanes_for(records: int, lanes: int) -> int:
    """Lanes of a split of *records*: *lanes*, or its largest divisor that leaves none empty."""
    return max((d for d in divisors(lanes) if d <= records), default=1)


def shards_for(
    *, records: int, size: int, lanes: int, requested: int | None, shard_bytes: int
) -> int:
    """How many shards a split of *records* and *size* bytes gets: a multiple of *lanes*.

    *requested* is a number of shards, a multiple of the run's lanes. Without it the shards come as
    near to *shard_bytes* as the multiple allows. Never more shards than records, so that none is
    empty. *lanes* has to come from `lanes_for`.
    """
    most = records // lanes
    rounds = round(size / (lanes * shard_bytes)) if requested is None else requested // lanes
    return lanes * max(1, min(rounds, most))


def place(ranks: NDArray[np.int64], shards: int) -> Place:
    """Shard and position of each of *ranks*."""
    return Place(ranks % shards, ranks // shards)


def rank_of(shard: int, position: int, shards: int) -> int:
    """The rank that lies in *shard* at *position*: the inverse of `place`."""
    return position * shards + shard


def records_in_shard(shard: int, shards: int, records: int) -> int:
    """How many of *records* lie in *shard* of *shards*: equal for all, plus or minus one."""
    return (records - shard + shards - 1) // shards


def replica_records(replica: int, replicas: int, records: int) -> int:
    """Records that *replica* of *replicas* reads in an epoch."""
    return (records - replica + replicas - 1) // replicas


def steps_per_epoch(records: int, batch: int) -> int:
    """Global batches an epoch of *records* takes, the last one perhaps short."""
    return -(-records // batch)


def batch_records(
    step: int, *, replica: int, replicas: int, records: int, batch: int
) -> NDArray[np.int64]:
    """Epoch positions that *replica* contributes to the global batch *step*."""
    first, stop = step * batch, min((step + 1) * batch, records)
    first += (replica - first) % replicas
    return np.arange(first, max(first, stop), replicas, dtype=np.int64)
