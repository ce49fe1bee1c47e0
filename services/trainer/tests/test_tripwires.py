"""What must never happen, and is looked for while workers train."""

from __future__ import annotations

from pathlib import Path

import pytest
from shard_maker import make_shards
from workers import NETWORK, Nursery

TRY_AGAIN = 75


@pytest.mark.parametrize("rank", [0, 1])
def test_a_weight_that_drifts_on_one_worker_is_found(
    nursery: Nursery, tmp_path: Path, rank: int
) -> None:
    """By all of them, at the next comparison; no checkpoint of it is taken."""
    made = make_shards(tmp_path, records={"train": 61, "val": 23}, lanes=6)
    words = ("run", made.folder, "--model", NETWORK, "--batch-size", 8, "--epochs", 2)
    faults = [{}, {}]
    faults[rank] = {"drift_at_step": 3}
    ended = nursery.gang(2, *words, "--compare-steps", 5, "--name", f"drift-{rank}", faults=faults)
    assert [TRY_AGAIN, TRY_AGAIN] == [each.code for each in ended]
    for each in ended:
        assert "do not agree on the weights at step 5" in each.err
    assert not (tmp_path / "runs" / f"drift-{rank}" / "checkpoints").exists()
