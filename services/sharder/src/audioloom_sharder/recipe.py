"""What the settings ask for: the run's name and place, its recipe, rules and sizes."""

from __future__ import annotations

from audioloom_manifest import Plan, ShardFeature, ShardsRecipe, run_folder, run_name
from audioloom_storage import Location, locate

from audioloom_sharder.formats.codec import Packing
from audioloom_sharder.formats.schema import RecordSchema
from audioloom_sharder.inputs.filters import Filters
from audioloom_sharder.inputs.manifests import Inputs
from audioloom_sharder.settings import DEFAULT_SHARD_BYTES, Assignment
from audioloom_sharder.sharding.layout import Sizes
from audioloom_sharder.splits.policy import SplitPolicy
from audioloom_sharder.splits.previous_run import NOTHING, Given, keep, open_table
from audioloom_sharder.splits.ratios import from_recorded, parse_shares, recorded
from audioloom_sharder.windows.rules import Rules

ALGORITHM = 1
"""Raised whenever the same settings and inputs would give other bytes."""


def _root_for(settings: Assignment, inputs: Inputs) -> Location:
    """The root that the run is written under."""
    return inputs.root if settings.root is None else locate(settings.root)


def open_given(settings: Assignment, inputs: Inputs) -> Given:
    """The run that is kept to, and the table of splits, as far as they were given.

    Raises:
        ManifestError, BadSplit, DamagedShards: see `given.keep`.
        BadTable, StorageError: see `given.open_table`.
    """
    kept = table = None
    if settings.keep_splits is not None:
        wished = [share.split for share in parse_shares(settings.wish or "")]
        kept = keep(settings.keep_splits, _root_for(settings, inputs), wished)
    if settings.split_table is not None:
        table = open_table(settings.split_table)
    return Given(kept, table)


def ask(settings: Assignment, inputs: Inputs, given: Given = NOTHING) -> Plan:
    """The run that *settings* mean: enough to look whether it is committed already.

    A run that is kept to is an input, the last one: with another one the result is another.
    """
    recipe = recipe_of(settings, given)
    root = _root_for(settings, inputs)
    references = tuple(opened.reference(root) for opened in inputs.manifests)
    if given.kept is not None:
        references += (given.kept.reference,)
    identities = [reference.identity for reference in references]
    name = settings.name or run_name("shards", recipe, identities)
    return Plan("shards", name, run_folder(root, "shards", name), recipe, references)


def recipe_of(settings: Assignment, given: Given = NOTHING) -> ShardsRecipe:
    """The recipe: whatever changes the result.

    Raises:
        BadSplit: the wish for splits makes no sense.
    """
    sizes = sizes_of(settings)
    wish = settings.wish
    return ShardsRecipe(
        algorithm=ALGORITHM,
        seed=settings.seed,
        lanes=sizes.lanes,
        shards=sizes.shards,
        shard_bytes=sizes.shard_bytes if sizes.shards is None else None,
        splits={} if wish is None else recorded(parse_shares(wish)),
        # What the data say, they say of recordings too: one without a group can go by itself.
        ungrouped="by-recording" if wish is None else settings.ungrouped,
        labels=settings.vocabulary,
        target=settings.target,
        compression=settings.compression,
        format=settings.format,
        only_labels=settings.taken_labels,
        without_flags=settings.refused_flags,
        min_seconds=settings.min_seconds,
        class_weights=settings.weights,
        resample=settings.resample,
        stratify=settings.stratify,
        split_pattern=settings.split_pattern,
        split_table_sha256=None if given.table is None else given.table.sha256,
        unassigned=settings.unassigned,
    )


def packing_of(recipe: ShardsRecipe) -> Packing:
    """What the shards of a run are."""
    return Packing(recipe.format, recipe.compression)


def sizes_of(settings: Assignment) -> Sizes:
    """How many shards, or how large."""
    size = int(settings.shard_bytes or DEFAULT_SHARD_BYTES)
    return Sizes(settings.lanes, settings.shards, size)


def policy_of(recipe: ShardsRecipe, given: Given = NOTHING) -> SplitPolicy:
    """How a recipe decides its splits."""
    by_recording = recipe.split_pattern is not None
    if given.table is not None:
        by_recording = given.table.key == "recording"
    return SplitPolicy(
        seed=recipe.seed,
        shares=from_recorded(recipe.splits),
        ungrouped=recipe.ungrouped,
        stratify=recipe.stratify,
        split_pattern=recipe.split_pattern,
        split_table=recipe.split_table_sha256,
        split_key="recording" if by_recording else "group",
        unassigned=recipe.unassigned,
        kept_seed=None if given.kept is None else given.kept.seed,
    )


def schema_of(recipe: ShardsRecipe, feature: ShardFeature) -> RecordSchema:
    """What the records of a recipe hold."""
    return RecordSchema(feature, recipe.target, recipe.labels)


def rules_of(recipe: ShardsRecipe, inputs: Inputs, given: Given = NOTHING) -> Rules:
    """All that decides what becomes of the windows of *inputs*."""
    return Rules(
        policy=policy_of(recipe, given),
        schema=schema_of(recipe, inputs.feature),
        filters=Filters(
            recipe.only_labels, recipe.without_flags, recipe.min_seconds * inputs.sample_rate
        ),
        weights=recipe.class_weights,
        resample=recipe.resample,
    )
