"""What a run is asked to do: its recipe, its name and its folder, before any work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from audioloom_manifest import (
    ModelRef,
    Opened,
    Plan,
    Recipe,
    ShardsManifest,
    TrainingRunRecipe,
    digest,
    root_of,
    run_folder,
    run_name,
)
from audioloom_storage import Location

from audioloom_trainer.errors import BadReplicas
from audioloom_trainer.input.sampler import allowed_replicas
from audioloom_trainer.models.source import ModelSource
from audioloom_trainer.shards.shard_set import Split

__all__ = ["Wish", "check_replicas", "digest_of", "make_plan", "recipe_digest"]

ALGORITHM = 1
"""Raised when the same recipe would give other weights than before."""


@dataclass(frozen=True)
class Wish:
    """The settings that change the result."""

    model: ModelSource
    arguments: Mapping[str, str | int | float | bool | None]
    epochs: int
    batch_size: int
    seed: int
    shuffle_window: int
    deterministic: bool
    keras: Literal["3", "legacy"] = "3"
    callbacks: ModelSource | None = None
    callback_arguments: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)


def make_plan(
    wish: Wish,
    shards: Opened[ShardsManifest],
    *,
    root: Location | None,
    name: str | None,
    folder: Location | None,
) -> Plan:
    """Name the run.

    Args:
        wish: what is asked for.
        shards: what is trained on.
        root: where runs/ lies; by default where shards/ does.
        name: by default a digest of the recipe and the shards' identity.
        folder: the run folder that a launcher has made; names the run too.
    """
    recipe = TrainingRunRecipe(
        algorithm=ALGORITHM,
        model=_reference(wish.model, wish.arguments),
        epochs=wish.epochs,
        batch_size=wish.batch_size,
        seed=wish.seed,
        shuffle_window=wish.shuffle_window,
        deterministic=wish.deterministic,
        keras=wish.keras,
        callbacks=None
        if wish.callbacks is None
        else _reference(wish.callbacks, wish.callback_arguments),
    )
    if folder is None:
        called = name or run_name("training-run", recipe, [shards.manifest.identity])
        folder = run_folder(root or shards.root, "training-run", called)
    reference = shards.reference(root_of(folder))
    return Plan("training-run", folder.name, folder, recipe, (reference,))


def _reference(
    source: ModelSource, arguments: Mapping[str, str | int | float | bool | None]
) -> ModelRef:
    return ModelRef(function=source.label, sha256=source.sha256, arguments=dict(arguments))


def recipe_digest(plan: Plan) -> str:
    """What a checkpoint carries: two plans with equal digests train the same model."""
    return digest_of(plan.recipe, plan.input_identities)


def digest_of(recipe: Recipe, inputs: list[str]) -> str:
    """The same, of a recipe and the identities of its inputs."""
    known = recipe.model_dump(mode="json", exclude_defaults=True)
    return digest({"recipe": known, "inputs": inputs})


def check_replicas(split: Split, replicas: int) -> None:
    """Refuse a number of replicas that would change the global batches.

    Raises:
        BadReplicas: with the numbers that are allowed.
    """
    allowed = allowed_replicas(split.layout.lanes)
    if replicas not in allowed:
        raise BadReplicas(
            where=f"the split {split.name!r} of {split.layout.lanes} lanes",
            expected=f"a number of replicas that divides its lanes: {', '.join(map(str, allowed))}",
            found=f"{replicas}",
            hint="Start as many workers, or shard the features again with other --lanes.",
        )
