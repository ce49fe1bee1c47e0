"""What a loss may be: exploded trainings are far above it, ordinary ones far below."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from audioloom_manifest.kinds import TargetStats
from audioloom_trainer.shards.layout import Layout
from audioloom_trainer.shards.shard_set import ShardSet, Split
from audioloom_trainer.training.spec import loss_limit

CLASSES = ShardSet(shape=(6, 20), dtype="float32", labels=("a", "b"), splits={})


def of_numbers(targets: TargetStats | None) -> ShardSet:
    """Shards whose targets are numbers, spread like this."""
    split = Split("train", Layout((4,), 1), (), {}, targets)
    return replace(CLASSES, labels=(), splits={"train": split})


@pytest.mark.parametrize(("first", "most"), [(0.7, 1e6), (3.0, 3e6), (-3.0, 3e6)])
def test_a_loss_may_become_a_million_times_the_first(first: float, most: float) -> None:
    """Or that of 1, for one that begins low."""
    assert most == loss_limit(first, CLASSES)


def test_a_class_that_weighs_more_may_come_late() -> None:
    """A batch without it says little about one with it."""
    assert 7e7 == pytest.approx(loss_limit(0.7, replace(CLASSES, class_weights=(0.1, 70.0))))


def test_one_number_far_from_all_others_is_no_explosion() -> None:
    """Squared, ten million of a hundred thousand records; the first batch had none like it."""
    others, far, batch = 100_000, 1e7, 8
    spread = TargetStats(mean=far / others, variance=far**2 / others - (far / others) ** 2)
    assert far**2 / batch < loss_limit(0.01, of_numbers(spread))


def test_where_the_spread_is_not_known_nothing_is_too_much() -> None:
    """Shards of 1.0 do not say it."""
    assert math.inf == loss_limit(0.01, of_numbers(None))
