"""The specification of a training run (recipe, name and folder) and the position in it."""

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

from audioloom_manifest.canonical import digest
from audioloom_manifest.envelope import Cost, Recipe
from audioloom_manifest.kinds import ModelRef, ShardsManifest, TrainingRunRecipe
from audioloom_manifest.layout import root_of
from audioloom_manifest.publication import Plan
from audioloom_manifest.reader import Opened, read_manifest
from audioloom_stage.arguments import Value
from audioloom_stage.errors import BadConfiguration
from audioloom_storage import Location, locate

from audioloom_trainer.distributed.cluster import Cluster
from audioloom_trainer.errors import CacheTooSmall
from audioloom_trainer.input.batches import Replicas, least_cache, needed_shards, steps_of
from audioloom_trainer.input.sampler import Shuffle, allowed_replicas
from audioloom_trainer.models.source import ModelSource, find_model
from audioloom_trainer.runs.layout import Launch
from audioloom_trainer.runtime.resources import available_cores
from audioloom_trainer.settings import RunSettings
from audioloom_trainer.shards.shard_set import Shard, ShardSet, Split, open_shards

ALGORITHM = 1
"""Raised when the same recipe would give other weights than before."""
_MOST_GROWTH = 1e6
_WINDOW = 8
_SHARDS_AT_ONCE = 192


@dataclass(frozen=True)
class RunSpec:
    """The specification of a training run for one worker."""

    settings: RunSettings
    plan: Plan
    model: ModelSource
    callbacks: ModelSource | None
    shards: Opened[ShardsManifest]
    cluster: Cluster
    launch: Launch
    cost: dict[str, Cost] = field(default_factory=dict)
    """What the run is predicted to take, on the chief."""

    @cached_property
    def shard_set(self) -> ShardSet:
        """The shards of all splits."""
        return open_shards(self.shards)

    @property
    def recipe(self) -> str:
        """The digest of recipe and shards in checkpoints."""
        return recipe_digest(self.plan.recipe, self.plan.input_identities)

    @property
    def legacy(self) -> bool:
        """Whether the model is one of `tf_keras`."""
        return self.settings.keras == "legacy"

    @property
    def train(self) -> Split:
        """The training split."""
        return self.shard_set.split("train")

    @property
    def steps(self) -> int:
        """The number of global batches in an epoch."""
        return steps_of(self.train.layout.total, self.settings.batch_size)

    def shuffle(self, epoch: int) -> Shuffle:
        """Return the shuffle of an epoch."""
        return Shuffle(self.settings.seed, epoch, self.window)

    @property
    def cores(self) -> int:
        """The cores of one worker."""
        shared = max(1, (os.cpu_count() or 1) // self.cluster.here)
        return self.settings.threads or min(available_cores(), shared)

    @property
    def window(self) -> int:
        """The shards of a lane that are shuffled together."""
        return cast("TrainingRunRecipe", self.plan.recipe).shuffle_window


@dataclass
class TrainingPosition:
    """The position of a training: the content of a checkpoint except the variables."""

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


def make_spec(settings: RunSettings, cluster: Cluster, launch: Launch) -> RunSpec:
    """Find the functions and the shards that the settings name, and plan the run."""
    model = find_model(settings.model)
    callbacks = find_model(settings.callbacks, "--callbacks") if settings.callbacks else None
    shards = read_manifest(settings.shards, expect="shards")
    plan = make_plan(settings, model, callbacks, shards, launch.folder)
    return RunSpec(settings, plan, model, callbacks, shards, cluster, launch)


def make_plan(
    settings: RunSettings,
    model: ModelSource,
    callbacks: ModelSource | None,
    shards: Opened[ShardsManifest],
    folder: Location | None = None,
) -> Plan:
    """Plan the run: its name, folder, recipe and inputs.

    The default root is that of the shards; the default name is a digest of the recipe and the
    shards' identity. A launcher makes the *folder*, which also names the run.
    """
    train = shards.manifest.stats.splits.get("train")
    lanes = 1 if train is None else train.lanes
    # 8, or as many as keep the shards that are held at once below those of 24 lanes.
    window = settings.shuffle_window or min(_WINDOW, max(1, _SHARDS_AT_ONCE // lanes))
    recipe = TrainingRunRecipe(
        algorithm=ALGORITHM,
        model=_reference(model, settings.model_arg),
        callbacks=None if callbacks is None else _reference(callbacks, settings.callback_arg),
        epochs=settings.epochs,
        batch_size=settings.batch_size,
        seed=settings.seed,
        shuffle_window=window,
        deterministic=settings.deterministic,
        keras=settings.keras,
    )
    if folder is None:
        root = shards.root if settings.root is None else locate(settings.root)
        return Plan.of("training-run", recipe, (shards.reference(root),), root, settings.name)
    reference = shards.reference(root_of(folder))
    return Plan("training-run", folder.name, folder, recipe, (reference,))


def _reference(source: ModelSource, arguments: dict[str, Value]) -> ModelRef:
    return ModelRef(
        function=source.label,
        sha256=source.sha256,
        revision=source.revision,
        arguments=dict(arguments),
    )


def recipe_digest(recipe: Recipe, inputs: list[str]) -> str:
    """Return the digest for checkpoints: runs with equal digests train the same model."""
    known = recipe.model_dump(mode="json", exclude_defaults=True)
    return digest({"recipe": known, "inputs": inputs})


def check_replicas(split: Split, replicas: int) -> None:
    """Refuse a number of replicas that would change the global batches, and name others."""
    allowed = allowed_replicas(split.layout.lanes)
    if replicas not in allowed:
        raise BadConfiguration(
            where=f"the split {split.name!r} of {split.layout.lanes} lanes",
            expected=f"a number of replicas that divides its lanes: {', '.join(map(str, allowed))}",
            found=f"{replicas}",
            hint="Start as many workers, or shard the features again with other --lanes.",
        )


def check_cache(split: Split, window: int, replicas: Replicas, limit: int) -> None:
    """Refuse a cache that cannot hold a window of each lane, before anything is copied to it.

    Raises:
        CacheTooSmall: says how many bytes and which numbers of workers would do.
    """
    needed = least_cache(split, window, replicas)
    if needed <= limit:
        return
    workers = (
        total // replicas.count
        for total in allowed_replicas(split.layout.lanes)
        if total % replicas.count == 0
        and least_cache(split, window, replace(replicas, first=0, total=total)) <= limit
    )
    enough = next((f", or at least {each} workers" for each in workers), "")
    raise CacheTooSmall(
        where="--cache-bytes",
        expected=f"{needed} bytes: {window} shards of each lane that this worker reads",
        found=f"{limit} bytes",
        hint=f"Give --cache-bytes {-(-needed // 2**30)}GiB{enough}, or a smaller --shuffle-window.",
    )


def needs(spec: RunSpec, replicas: Replicas, start: TrainingPosition) -> Iterator[Shard]:
    """Yield every shard that a training will hold after a position, in that order."""
    settings, splits = spec.settings, spec.shard_set.splits
    batch = settings.batch_size
    for epoch in range(start.epoch, start.epoch if start.stopped else settings.epochs):
        first = start.step if epoch == start.epoch else 0
        if first < spec.steps:
            shuffle = spec.shuffle(epoch)
            yield from needed_shards(spec.train, shuffle, replicas, batch=batch, start=first)
        # Callbacks read the scores of each epoch, so the last epoch is validated too.
        if "val" in splits and (settings.callbacks or epoch + 1 < settings.epochs):
            yield from needed_shards(splits["val"], None, replicas, batch=batch)
    for name in sorted(splits.keys() - {"train"}):
        yield from needed_shards(splits[name], None, replicas, batch=batch)


def loss_limit(first: float, shard_set: ShardSet) -> float:
    """Return the largest allowed loss of a batch: a million times the first loss, at least of 1.

    The first batch may lack a class of high weight, so the limit is multiplied by the highest
    weight. It may lack a far target too, so the mean square of all targets counts like a first
    loss. If the shards lack that mean square, the limit is infinite.
    """
    scale = [1.0, abs(first)]
    if shard_set.classes is None:
        targets = [split.targets for split in shard_set.splits.values()]
        scale += [each.variance + each.mean**2 if each else math.inf for each in targets]
    return _MOST_GROWTH * max([1.0, *(shard_set.class_weights or ())]) * max(scale)
