from itertools import pairwise

import numpy as np
import pytest
from audioloom_trainer.input.sampler import (
    EpochOrder,
    Layout,
    Shuffle,
    allowed_replicas,
    replica_lanes,
    replica_positions,
)
from hypothesis import given
from hypothesis import strategies as st


def layout_of(total: int, shards: int, lanes: int) -> Layout:
    """A balanced split, as the contract deals records to shards."""
    return Layout(tuple((total - s + shards - 1) // shards for s in range(shards)), lanes)


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    """Any balanced split of up to 24 lanes."""
    lanes = draw(st.sampled_from([1, 2, 3, 4, 6, 8, 12, 24]))
    shards = lanes * draw(st.integers(1, 7))
    return layout_of(draw(st.integers(shards, shards * 9 + 5)), shards, lanes)


shuffles = st.none() | st.builds(
    Shuffle, seed=st.integers(0, 2**40), epoch=st.integers(0, 50), window=st.integers(1, 9)
)


@pytest.mark.parametrize(
    ("records", "lanes"),
    [((3, 3, 3), 2), ((5, 3, 4, 4), 2), ((4, 0), 1), ((), 1), ((3, 3), 0)],
)
def test_refuses_unbalanced_layouts(records: tuple[int, ...], lanes: int) -> None:
    """A split whose lanes do not hold their share cannot be read in this order."""
    with pytest.raises(ValueError, match=r"lane"):
        Layout(records, lanes)


@given(layouts(), shuffles, st.integers(1, 70))
def test_epoch_holds_every_record_once(layout: Layout, shuffle: Shuffle | None, batch: int) -> None:
    """All batches of all replicas together are exact and disjoint, for every W that divides B."""
    whole = {(s, r) for s, count in enumerate(layout.records) for r in range(count)}
    steps = -(-layout.total // batch)
    first: list[set[tuple[int, ...]]] | None = None
    for replicas in allowed_replicas(layout.lanes):
        orders = [EpochOrder(layout, shuffle) for _ in range(replicas)]
        batches = []
        for step in range(steps):
            parts = [
                orders[w].locate(
                    replica_positions(
                        step, batch=batch, total=layout.total, replica=w, replicas=replicas
                    )
                )
                for w in range(replicas)
            ]
            sizes = [len(part) for part in parts]
            assert max(sizes) - min(sizes) <= 1
            rows = [tuple(row) for part in parts for row in part.tolist()]
            assert len(rows) == len(set(rows)) == min(batch, layout.total - step * batch)
            batches.append(set(rows))
        assert sum(map(len, batches)) == layout.total
        assert set.union(*batches) == whole
        first = first or batches
        assert first == batches


@given(layouts(), shuffles, st.integers(1, 40), st.data())
def test_resume_is_a_slice(
    layout: Layout, shuffle: Shuffle | None, batch: int, data: st.DataObject
) -> None:
    """A fresh order asked from any step on answers what an order read from the start answers."""
    replicas = data.draw(st.sampled_from(allowed_replicas(layout.lanes)))
    replica = data.draw(st.integers(0, replicas - 1))
    steps = -(-layout.total // batch)
    start = data.draw(st.integers(0, steps - 1))
    read, resumed = EpochOrder(layout, shuffle), EpochOrder(layout, shuffle)

    def rows(order: EpochOrder, step: int) -> list[list[int]]:
        positions = replica_positions(
            step, batch=batch, total=layout.total, replica=replica, replicas=replicas
        )
        return order.locate(positions).tolist()

    whole = [rows(read, step) for step in range(steps)]
    assert whole[start:] == [rows(resumed, step) for step in range(start, steps)]


@given(layouts(), shuffles, st.data())
def test_replica_stays_in_its_lanes(
    layout: Layout, shuffle: Shuffle | None, data: st.DataObject
) -> None:
    """A replica reads shards of its lanes alone, also when the replicas do not divide the lanes."""
    replicas = data.draw(st.integers(1, 30))
    replica = data.draw(st.integers(0, replicas - 1))
    positions = np.arange(replica, layout.total, replicas)
    rows = EpochOrder(layout, shuffle).locate(positions)
    lanes = replica_lanes(layout.lanes, [replica], replicas)
    assert set((rows[:, 0] % layout.lanes).tolist()) <= set(lanes)


@given(layouts(), st.integers(1, 9))
def test_windows_cover_a_lane_in_order(layout: Layout, window: int) -> None:
    """The windows of a lane follow each other without a gap and hold its shards once each."""
    order = EpochOrder(layout, Shuffle(seed=1, epoch=2, window=window))
    for lane in range(layout.lanes):
        windows = order.windows(lane)
        assert [0] == [w.start for w in windows[:1]]
        assert all(a.start + a.count == b.start for a, b in pairwise(windows))
        share = len(range(lane, layout.total, layout.lanes))
        assert share == sum(w.count for w in windows)
        shards = sorted(shard for w in windows for shard in w.shards)
        assert list(range(lane, len(layout.records), layout.lanes)) == shards
        assert all(len(w.shards) <= window for w in windows)


def test_epochs_differ_and_repeat() -> None:
    """Each epoch has another order, and asked again the same one."""
    layout = layout_of(500, 24, 12)
    one, two, again = (
        EpochOrder(layout, Shuffle(seed=3, epoch=epoch, window=2)).locate(np.arange(500)).tolist()
        for epoch in (0, 1, 0)
    )
    assert one != two
    assert one == again


def test_order_is_frozen() -> None:
    """The first records of a known split may never change."""
    order = EpochOrder(layout_of(40, 8, 4), Shuffle(seed=11, epoch=3, window=2))
    rows = order.locate(np.arange(6)).tolist()
    assert rows == [[0, 1], [5, 3], [6, 2], [7, 4], [4, 3], [1, 2]]


def test_reading_order_follows_the_epoch() -> None:
    """Windows come by the first position that needs them, lanes in turn."""
    order = EpochOrder(layout_of(60, 12, 3), Shuffle(seed=1, epoch=0, window=2))
    windows = sorted(window for lane in (0, 2) for window in order.windows(lane))
    assert [(0, 0), (0, 2), (10, 0), (10, 2)] == [(w.start, w.lane) for w in windows]
