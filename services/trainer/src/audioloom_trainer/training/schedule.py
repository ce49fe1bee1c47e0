"""What a training does from a place on: epochs, orders, checkpoints, the shards it needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from audioloom_trainer.input.batches import Replicas, needed_shards, steps_of
from audioloom_trainer.input.sampler import Shuffle
from audioloom_trainer.shards.shard_set import Shard, ShardSet

__all__ = ["Place", "Schedule", "needs"]


@dataclass(frozen=True)
class Schedule:
    """How long and in which order, and what is looked at on the way."""

    epochs: int
    batch_size: int
    seed: int
    shuffle_window: int
    checkpoint_steps: int | None
    checkpoint_minutes: float | None
    compare_steps: int = 100
    """How often the weights of all replicas are compared."""
    allow_zero_loss: bool = False
    allow_exploding_loss: bool = False
    watched: bool = False
    """Callbacks look at the end of each epoch, so the last one is validated like the others."""

    def shuffle(self, epoch: int) -> Shuffle:
        """The order of an epoch."""
        return Shuffle(self.seed, epoch, self.shuffle_window)


@dataclass
class Place:
    """Where the training stands: what a checkpoint holds beside the variables."""

    epoch: int = 0
    step: int = 0
    """Batches of the epoch that are done."""
    loss: float = 0.0
    """Sum over the epoch's batches of loss times records."""
    records: int = 0
    """Records of the epoch that are done."""
    history: list[dict[str, float]] = field(default_factory=list)
    stopped: bool = False
    """The callbacks have ended the training before its last epoch."""
    callbacks: list[dict[str, Any]] = field(default_factory=list)
    """What each callback remembers."""

    def to_json(self) -> dict[str, Any]:
        """As a checkpoint's commit record keeps it."""
        return {**vars(self), "history": list(self.history)}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Place:
        """Read what `to_json` gave."""
        return cls(**value)


def needs(
    shard_set: ShardSet, schedule: Schedule, replicas: Replicas, start: Place
) -> Iterator[Shard]:
    """Every shard that a session will hold, in that order, from a place on."""
    train, batch = shard_set.split("train"), schedule.batch_size
    for epoch in range(start.epoch, start.epoch if start.stopped else schedule.epochs):
        first = start.step if epoch == start.epoch else 0
        if first < steps_of(train.layout.total, batch):
            shuffle = schedule.shuffle(epoch)
            yield from needed_shards(train, shuffle, replicas, batch=batch, start=first)
        if "val" in shard_set.splits and (schedule.watched or epoch + 1 < schedule.epochs):
            yield from needed_shards(shard_set.split("val"), None, replicas, batch=batch)
    for name in sorted(shard_set.splits.keys() - {"train"}):
        yield from needed_shards(shard_set.split(name), None, replicas, batch=batch)
