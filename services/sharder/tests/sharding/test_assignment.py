"""The assignment is exact, bijective and balanced for any count, lanes and replicas."""

from __future__ import annotations

import numpy as np
from audioloom_sharder.sharding.assignment import (
    divisors,
    lanes_for,
    place,
    records_in,
    shards_for,
    steps_per_epoch,
)
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

lanes_asked = st.sampled_from([1, 2, 3, 4, 6, 8, 12, 24, 60])


def rank_of(shard: int, position: int, shards: int) -> int:
    """Return the rank at *position* of *shard*: the inverse of `place`."""
    return position * shards + shard


def batch_records(
    step: int, *, replica: int, replicas: int, records: int, batch: int
) -> NDArray[np.int64]:
    """Return the epoch positions that *replica* contributes to the global batch *step*."""
    first, stop = step * batch, min((step + 1) * batch, records)
    first += (replica - first) % replicas
    return np.arange(first, max(first, stop), replicas, dtype=np.int64)


@st.composite
def splits(draw: st.DrawFn, most: int = 2000) -> tuple[int, int, int]:
    """(records, lanes, shards) as a run would choose them."""
    records = draw(st.integers(1, most))
    lanes = lanes_for(records, draw(lanes_asked))
    wish = draw(st.none() | st.integers(1, 40).map(lambda n: n * lanes))
    size = draw(st.integers(records, records * 60_000))
    shard_bytes = draw(st.integers(1, 1 << 28))
    shards = shards_for(
        records=records, size=size, lanes=lanes, requested=wish, shard_bytes=shard_bytes
    )
    return records, lanes, shards


@given(split=splits(most=10_000_000))
def test_shards_are_whole_lanes_and_none_is_empty(split: tuple[int, int, int]) -> None:
    """Up to ten million records."""
    records, lanes, shards = split
    assert shards % lanes == 0
    assert 1 <= shards <= records


@given(records=st.integers(1, 10_000_000), lanes=lanes_asked)
def test_lanes_are_the_largest_divisor_that_fits(records: int, lanes: int) -> None:
    """A small split gets fewer lanes, never an empty one."""
    found = lanes_for(records, lanes)
    assert lanes % found == 0
    assert found <= records
    assert not [d for d in divisors(lanes) if found < d <= records]


@given(split=splits())
def test_every_rank_has_a_place_of_its_own(split: tuple[int, int, int]) -> None:
    """Bijective: shards are filled from position 0 without a gap, equal sizes plus or minus one."""
    records, _, shards = split
    shard_of, position_of = place(np.arange(records), shards)
    for shard in range(shards):
        positions = position_of[shard_of == shard]
        assert list(range(records_in(shard, shards, records))) == positions.tolist()
    counts = [records_in(shard, shards, records) for shard in range(shards)]
    assert records == sum(counts)
    assert max(counts) - min(counts) <= 1
    assert sorted(counts, reverse=True) == counts


@given(split=splits(most=10_000_000), data=st.data())
def test_rank_of_is_the_inverse(split: tuple[int, int, int], data: st.DataObject) -> None:
    """From shard and position back to the rank."""
    records, _, shards = split
    rank = data.draw(st.integers(0, records - 1))
    (shard,), (position,) = place(np.array([rank]), shards)
    assert rank == rank_of(int(shard), int(position), shards)


@given(split=splits())
def test_a_lane_has_as_many_records_as_epoch_positions(split: tuple[int, int, int]) -> None:
    """So position p can always be served by lane p % B."""
    records, lanes, shards = split
    for lane in range(lanes):
        held = sum(records_in(s, shards, records) for s in range(lane, shards, lanes))
        assert len(range(lane, records, lanes)) == held


@given(split=splits(), batch=st.integers(1, 300))
def test_global_batches_are_the_same_for_any_divisor(
    split: tuple[int, int, int], batch: int
) -> None:
    """Every replica count that divides the lanes reads the same positions at each step, once."""
    records, lanes, _ = split
    assume(records // batch < 100)
    steps = steps_per_epoch(records, batch)
    for replicas in divisors(lanes):
        read: list[int] = []
        for step in range(steps):
            parts = [
                batch_records(step, replica=w, replicas=replicas, records=records, batch=batch)
                for w in range(replicas)
            ]
            together = sorted(np.concatenate(parts).tolist())
            assert list(range(step * batch, min((step + 1) * batch, records))) == together
            read += together
        assert list(range(records)) == read


@given(split=splits(most=10_000_000), batch=st.integers(1, 4096), data=st.data())
def test_global_batches_of_millions_are_the_same(
    split: tuple[int, int, int], batch: int, data: st.DataObject
) -> None:
    """Any step of up to ten million records, the last one among them, for every divisor."""
    records, lanes, shards = split
    steps = steps_per_epoch(records, batch)
    step = data.draw(st.sampled_from([0, steps - 1]) | st.integers(0, steps - 1))
    expected = np.arange(step * batch, min((step + 1) * batch, records))
    for replicas in divisors(lanes):
        parts = [
            batch_records(step, replica=w, replicas=replicas, records=records, batch=batch)
            for w in range(replicas)
        ]
        assert np.array_equal(expected, np.sort(np.concatenate(parts)))
        for replica, part in enumerate(parts):  # a replica reads shards of its own lanes alone
            assert {replica} >= set((place(part, shards)[0] % lanes % replicas).tolist())


@given(split=splits(most=10_000_000))
def test_shards_of_millions_are_even(split: tuple[int, int, int]) -> None:
    """All shards at once: plus or minus one, none empty, every record in one."""
    records, _, shards = split
    numbers = np.arange(shards)
    counts = records_in(numbers, shards, records)  # type: ignore[arg-type, var-annotated]
    assert records == int(np.sum(counts))
    assert 1 <= int(np.min(counts))
    assert int(np.ptp(counts)) <= 1


@settings(max_examples=5)
@given(split=splits(most=10_000_000))
def test_every_rank_of_millions_has_a_place(split: tuple[int, int, int]) -> None:
    """Shard and position together name no two ranks, and fill every shard from 0 on."""
    records, _, shards = split
    shard_of, position_of = place(np.arange(records), shards)
    assert np.array_equal(np.arange(records), position_of * shards + shard_of)
    held = np.bincount(shard_of, minlength=shards)
    assert [records_in(s, shards, records) for s in range(shards)] == held.tolist()
    assert np.array_equal(np.bincount(position_of), np.sort(np.bincount(position_of))[::-1])


@given(records=st.integers(1, 10_000_000), replicas=st.integers(1, 60))
def test_replicas_differ_by_at_most_one_record(records: int, replicas: int) -> None:
    """The shares of all replicas add up and are equal plus or minus one."""
    ratios = [records_in(w, replicas, records) for w in range(replicas)]
    assert records == sum(ratios)
    assert max(ratios) - min(ratios) <= 1


def test_shards_come_near_the_size_wished() -> None:
    """30 GB in shards of 128 MiB, in multiples of 24."""
    found = shards_for(
        records=600_000, size=30_000_000_000, lanes=24, requested=None, shard_bytes=128 << 20
    )
    assert 216 == found


def test_a_wish_is_bounded_by_the_records() -> None:
    """48 shards of 30 records would leave empty ones: 24 instead."""
    assert 24 == shards_for(records=30, size=1, lanes=24, requested=48, shard_bytes=1)
