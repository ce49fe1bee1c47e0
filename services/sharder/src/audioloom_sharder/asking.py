"""What the settings ask for: the run's name and place, its recipe, rules and sizes."""

from __future__ import annotations

from audioloom_manifest import Feature, Plan, ShardsManifest, ShardsRecipe, run_folder, run_name
from audioloom_storage import locate

from audioloom_sharder.filters import Filters
from audioloom_sharder.inputs import Inputs
from audioloom_sharder.layout import Sizes
from audioloom_sharder.packing import Packing
from audioloom_sharder.rows import Rules
from audioloom_sharder.settings import DEFAULT_SHARD_BYTES, Assignment, parse_bytes
from audioloom_sharder.splits import from_recorded, parse_shares, recorded

__all__ = ["ALGORITHM", "ask", "packing_of", "recipe_of", "rules_of", "rules_of_shards", "sizes_of"]

ALGORITHM = 1
"""Raised whenever the same settings and inputs would give other bytes."""


def ask(settings: Assignment, inputs: Inputs) -> Plan:
    """The run that *settings* mean: enough to look whether it is committed already."""
    recipe = recipe_of(settings)
    name = settings.name or run_name("shards", recipe, inputs.identities)
    root = inputs.root if settings.root is None else locate(settings.root)
    references = tuple(opened.reference(root) for opened in inputs.manifests)
    return Plan("shards", name, run_folder(root, "shards", name), recipe, references)


def recipe_of(settings: Assignment) -> ShardsRecipe:
    """The recipe: whatever changes the result.

    Raises:
        BadSplit: the wish for splits makes no sense.
    """
    sizes = sizes_of(settings)
    return ShardsRecipe(
        algorithm=ALGORITHM,
        seed=settings.seed,
        lanes=sizes.lanes,
        shards=sizes.shards,
        shard_bytes=sizes.shard_bytes if sizes.shards is None else None,
        splits=recorded(parse_shares(settings.split)),
        ungrouped=settings.ungrouped,
        labels=settings.vocabulary,
        target=settings.target,
        compression=settings.compression,
        format=settings.format,
        only_labels=settings.taken_labels,
        without_flags=settings.refused_flags,
        min_seconds=settings.min_seconds,
        class_weights=settings.weights,
        resample=settings.resample,
    )


def packing_of(recipe: ShardsRecipe) -> Packing:
    """What the shards of a run are."""
    return Packing(recipe.format, recipe.compression)


def sizes_of(settings: Assignment) -> Sizes:
    """How many shards, or how large."""
    size = parse_bytes(settings.shard_bytes or DEFAULT_SHARD_BYTES)
    return Sizes(settings.lanes, settings.shards, size)


def rules_of(settings: Assignment, feature: Feature) -> Rules:
    """What decides where a window goes and what its record says."""
    return _rules(recipe_of(settings), feature)


def rules_of_shards(manifest: ShardsManifest) -> Rules:
    """The same from a manifest."""
    known = manifest.stats.feature
    feature = Feature(
        name=known.name,
        dtype=known.dtype,
        shape=known.shape,
        sample_rate=1,  # not in the shards, and not needed to read them
        parameters={},
    )
    return _rules(manifest.recipe, feature)


def _rules(recipe: ShardsRecipe, feature: Feature) -> Rules:
    return Rules(
        feature=feature,
        seed=recipe.seed,
        shares=from_recorded(recipe.splits),
        ungrouped=recipe.ungrouped,
        target=recipe.target,
        labels=recipe.labels,
        filters=Filters(recipe.only_labels, recipe.without_flags, recipe.min_seconds),
        weights=recipe.class_weights,
        resample=recipe.resample,
    )
