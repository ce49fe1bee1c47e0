from __future__ import annotations

from collections.abc import Iterator
from math import prod
from pathlib import Path

import numpy as np
import pytest
from audioloom_trainer.input.batches import Batch, BatchReader, Replicas, needed_shards, steps_of
from audioloom_trainer.input.sampler import EpochOrder, Shuffle
from audioloom_trainer.input.staging import Staging
from audioloom_trainer.shards.shard_set import ShardSet, open_shards
from shard_maker import make_shards

Row = tuple[bytes, int]
SHUFFLE = Shuffle(seed=3, epoch=1, window=2)
ALONE = Replicas()


@pytest.fixture(scope="module")
def shard_set(tmp_path_factory: pytest.TempPathFactory) -> ShardSet:
    """Splits whose records, shards and lanes divide each other as little as they may."""
    records = {"train": 61, "val": 23, "few": 2}
    made = make_shards(
        tmp_path_factory.mktemp("feed"), records=records, lanes=6, shards={"train": 30}
    )
    return open_shards(made)


def read(
    shard_set: ShardSet,
    split: str,
    shuffle: Shuffle | None,
    replicas: Replicas,
    batch: int,
    start: int = 0,
) -> list[Batch]:
    """All batches of one process, read through its own staging, which names its needs exactly."""
    part = shard_set.split(split)
    needs = list(needed_shards(part, shuffle, replicas, batch=batch, start=start))
    with Staging(shard_set, needs, cache=None) as staging:
        feed = BatchReader(part, shuffle, batch=batch, replicas=replicas, staging=staging)
        found = list(feed.batches(start))
        for shard in needs:
            with pytest.raises(RuntimeError, match="no need names it"):
                staging.hold([shard])  # nothing was staged in vain
    return found


def counted(batch: Batch) -> Iterator[list[Row]]:
    """The rows that count, of each replica of a batch."""
    for slot, count in enumerate(batch.counts.tolist()):
        rows = range(batch.bounds[slot], batch.bounds[slot] + count)
        yield [(batch.features[row].tobytes(), int(batch.targets[row])) for row in rows]


def gang(total: int) -> list[Replicas]:
    return [Replicas(first=number, count=1, total=total) for number in range(total)]


@pytest.mark.parametrize("shuffle", [SHUFFLE, None], ids=["shuffled", "in order"])
@pytest.mark.parametrize("split", ["train", "val", "few"])
@pytest.mark.parametrize("batch", [1, 5, 15, 100])
def test_an_epoch_holds_every_record_once(
    shard_set: ShardSet, split: str, batch: int, shuffle: Shuffle | None
) -> None:
    """Whatever the number of replicas, also one that does not divide the lanes, in equal batches.

    A replica without a record gets one row that does not count.
    """
    total = shard_set.split(split).layout.total
    alone = [sorted(next(counted(each))) for each in read(shard_set, split, shuffle, ALONE, batch)]
    rows = [row for each in alone for row in each]
    assert total == len(rows) == len(set(rows))
    for replicas in (2, 3, 4, 6):
        parts = [read(shard_set, split, shuffle, each, batch) for each in gang(replicas)]
        for step, expected in enumerate(alone):
            shares = [next(counted(part[step])) for part in parts]
            assert expected == sorted(row for share in shares for row in share)
            sizes = [len(share) for share in shares]
            assert max(sizes) - min(sizes) <= 1
            assert [max(1, size) for size in sizes] == [len(p[step].features) for p in parts]
            assert {float(len(expected))} == {float(part[step].total) for part in parts}


@pytest.mark.parametrize("replicas", [ALONE, *gang(2), gang(3)[2], Replicas(1, 2, 3)], ids=str)
@pytest.mark.parametrize("batch", [5, 15])
def test_going_on_from_a_step_is_the_tail(
    shard_set: ShardSet, replicas: Replicas, batch: int
) -> None:
    """From every step: the same bytes, also of the rows that do not count."""
    whole = read(shard_set, "train", SHUFFLE, replicas, batch)
    assert steps_of(61, batch) == len(whole)
    for start in range(len(whole)):
        tail = read(shard_set, "train", SHUFFLE, replicas, batch, start)
        assert len(whole) - start == len(tail)
        for expected, batch_found in zip(whole[start:], tail, strict=True):
            for one, other in zip(expected, batch_found, strict=True):
                np.testing.assert_array_equal(one, other)


def test_replicas_of_one_process_follow_each_other(shard_set: ShardSet) -> None:
    """One feed of three replicas holds what three feeds of one hold, cut by its bounds."""
    together = read(shard_set, "train", SHUFFLE, Replicas(0, 3, 3), 15)
    apart = [read(shard_set, "train", SHUFFLE, each, 15) for each in gang(3)]
    for step, batch in enumerate(together):
        assert [0, *np.cumsum([len(part[step].features) for part in apart])] == list(batch.bounds)
        features = np.concatenate([part[step].features for part in apart])
        np.testing.assert_array_equal(features, batch.features)
        assert [part[step].counts[0] for part in apart] == list(batch.counts)
    assert [1, 0, 0] == list(together[-1].counts)


@pytest.mark.parametrize("split", ["train", "val"])
@pytest.mark.parametrize("replicas", [Replicas(0, 4, 5), Replicas(0, 8, 8), Replicas(2, 3, 9)])
@pytest.mark.parametrize("batch", [5, 17, 20])
def test_replicas_of_one_process_may_share_lanes(
    shard_set: ShardSet, split: str, replicas: Replicas, batch: int
) -> None:
    """Also more of them than lanes: each shard is read once, each record is where it belongs."""
    together = read(shard_set, split, None, replicas, batch)
    for slot, number in enumerate(replicas.numbers):
        apart = read(shard_set, split, None, Replicas(number, 1, replicas.total), batch)
        for one, other in zip(apart, together, strict=True):
            assert next(counted(one)) == list(counted(other))[slot]


def test_rows_are_what_the_order_says(shard_set: ShardSet) -> None:
    """Each record lies where the epoch's order puts it, with its own class."""
    split = shard_set.split("train")
    rows = EpochOrder(split.layout, SHUFFLE).locate(np.arange(split.layout.total))
    with Staging(shard_set, split.shards, cache=None) as staging:
        held = staging.hold(split.shards)
        size = 4 * prod(shard_set.shape)  # float32
        expected = []
        for number, row in rows.tolist():
            raw = Path(held[number].path).read_bytes()
            at = held[number].values[row]
            expected.append((raw[at : at + size], held[number].targets[row]))
        staging.release(split.shards)
    batches = read(shard_set, "train", SHUFFLE, ALONE, 7)
    assert expected == [row for each in batches for row in next(counted(each))]


def test_a_replica_reads_its_lanes_alone(shard_set: ShardSet) -> None:
    """A worker needs its share of the shards, each once an epoch, and fewer after a resume."""
    split = shard_set.split("train")
    needs = [list(needed_shards(split, SHUFFLE, each, batch=5)) for each in gang(3)]
    assert set(split.shards) == {shard for part in needs for shard in part}
    assert len(split.shards) == sum(map(len, needs))
    late = list(needed_shards(split, SHUFFLE, ALONE, batch=5, start=10))
    assert 0 < len(late) < len(split.shards)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_features_keep_their_type(tmp_path: Path, dtype: str) -> None:
    """As the shards hold them, and their bits."""
    made = make_shards(tmp_path, records={"train": 8}, lanes=2, dtype=dtype)
    (batch,) = read(open_shards(made), "train", None, ALONE, 8)
    assert np.dtype(dtype) == batch.features.dtype
    assert np.isfinite(batch.features).all()
    assert np.int32 == batch.targets.dtype


def test_numbers_come_from_the_records(tmp_path: Path) -> None:
    """Where numbers are learned, each record's own; not its class."""
    made = make_shards(tmp_path, records={"train": 12}, lanes=2, numbers=True)
    (batch,) = read(open_shards(made), "train", SHUFFLE, ALONE, 12)
    assert np.float32 == batch.targets.dtype
    assert {0.0, 0.5, 1.0} >= set(batch.targets.tolist())
