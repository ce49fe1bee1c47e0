"""Records by their position: where each comes from, in plain shards and in compressed ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from audioloom_trainer.errors import ShardMismatch
from audioloom_trainer.evaluation.split_scores import origins
from audioloom_trainer.input.sampler import EpochOrder
from audioloom_trainer.shards.shard_set import open_shards
from shard_maker import make_shards


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_a_changed_shard_is_told(tmp_path: Path, compression: str) -> None:
    """With the file: nobody reads nonsense out of it."""
    made = make_shards(tmp_path, records={"val": 9}, lanes=1, compression=compression)
    shard_set = open_shards(made)
    split = shard_set.split("val")
    where = Path(split.shards[0].data.location.path)
    where.write_bytes(b"\xff" * len(where.read_bytes()))
    with pytest.raises(ShardMismatch, match=where.name):
        origins(shard_set, split, [0])


@pytest.mark.parametrize("compression", ["none", "gzip", "zlib"])
def test_every_position_is_found(tmp_path: Path, compression: str) -> None:
    """In any order, and twice as well; the maker's paths say split, shard and row."""
    made = make_shards(tmp_path, records={"val": 23}, lanes=2, compression=compression)
    shard_set = open_shards(made)
    split = shard_set.split("val")
    positions = [*np.random.default_rng(0).permutation(23).tolist(), 5]
    rows = EpochOrder(split.layout).locate(np.array(positions))
    expected = [
        {"path": f"val/{shard}/{row}", "window": 0, "channel": 0} for shard, row in rows.tolist()
    ]
    assert expected == origins(shard_set, split, positions)


def test_no_position_reads_nothing(tmp_path: Path) -> None:
    """As where numbers are learned."""
    shard_set = open_shards(make_shards(tmp_path, records={"val": 4}, lanes=1))
    assert [] == origins(shard_set, shard_set.split("val"), [])
