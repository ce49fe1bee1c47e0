"""The place of a record: rank → shard and position; lanes and replicas; the number of shards.

A keyed hash (`hashing`) ranks the records of a split 0 … T-1. Rank ``k`` lies in shard
``k % n`` at position ``k // n``, so shards differ by at most one record and the longer ones come
first. ``n`` is a multiple of the split's lanes ``B``: lane ``l`` owns the shards ``≡ l (mod B)``.

Epoch position ``p`` belongs to lane ``p % B``, and replica ``w`` of ``W`` takes the positions
``≡ w (mod W)``. As ``n`` is a multiple of ``B``, the ranks of lane ``l`` are those ``≡ l (mod B)``,
exactly as many as it has positions. Hence the set of records in every global batch is the same
for every ``W`` that divides ``B``, and replicas differ by at most one record.
"""

import numpy as np
from numpy.typing import NDArray


def divisors(number: int) -> tuple[int, ...]:
    """Return every divisor of *number*, ascending."""
    return tuple(d for d in range(1, number + 1) if number % d == 0)


def lanes_for(records: int, lanes: int) -> int:
    """Return the lanes of a split: *lanes*, or its largest divisor that leaves no lane empty."""
    return max((d for d in divisors(lanes) if d <= records), default=1)


def shards_for(
    *, records: int, size: int, lanes: int, requested: int | None, shard_bytes: int
) -> int:
    """Compute the shards of a split of *records* and *size* bytes: a multiple of *lanes*.

    *requested* is a number of shards, a multiple of the run's lanes. Without it the shards come as
    near to *shard_bytes* as the multiple allows. A split never gets more shards than records, so no
    shard is empty. *lanes* must come from `lanes_for`.
    """
    most = records // lanes
    rounds = round(size / (lanes * shard_bytes)) if requested is None else requested // lanes
    return lanes * max(1, min(rounds, most))


def place(
    ranks: NDArray[np.int64], shards: NDArray[np.int64] | int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Compute shard and position of each of *ranks*."""
    return ranks % shards, ranks // shards


def records_in(part: int, parts: int, records: int) -> int:
    """Count the records in a shard, or of a replica in an epoch; parts differ by one at most."""
    return (records - part + parts - 1) // parts


def steps_per_epoch(records: int, batch: int) -> int:
    """Count the global batches of an epoch; the last batch may be short."""
    return -(-records // batch)
