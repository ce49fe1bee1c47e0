"""The run that settings request: its recipe, name and folder, and the rules of the recipe."""

from dataclasses import dataclass

from audioloom_manifest import Plan, ShardFeature, ShardsRecipe, run_folder, run_name
from audioloom_storage import locate

from audioloom_sharder.formats.codec import Codec
from audioloom_sharder.formats.schema import RecordSchema
from audioloom_sharder.inputs.filters import Filters
from audioloom_sharder.inputs.manifests import Inputs, open_inputs
from audioloom_sharder.settings import DEFAULT_SHARD_BYTES, Assignment
from audioloom_sharder.sharding.layout import ShardSizes
from audioloom_sharder.splits.policy import SplitPolicy
from audioloom_sharder.splits.previous_run import open_previous_run
from audioloom_sharder.splits.ratios import parse_ratios, ratios_from_recipe, ratios_to_recipe
from audioloom_sharder.splits.sources import NO_SOURCES, SplitSources
from audioloom_sharder.splits.table import open_split_table
from audioloom_sharder.windows.rules import Rules

ALGORITHM = 1
"""Raised whenever the same settings and inputs would give other bytes."""


@dataclass(frozen=True)
class RequestedRun:
    """The run that settings request, decided before any work."""

    inputs: Inputs
    split_sources: SplitSources
    recipe: ShardsRecipe
    plan: Plan
    sizes: ShardSizes

    @property
    def rules(self) -> Rules:
        """The rules for the windows of the inputs."""
        return rules_of(self.recipe, self.inputs, self.split_sources)

    @property
    def codec(self) -> Codec:
        """The format of the shards."""
        return codec_of(self.recipe)


def request_run(settings: Assignment) -> RequestedRun:
    """Open the inputs, and decide the recipe and the name of the run.

    A previous run is the last input, because it changes the content of the new run.

    Raises:
        InvalidOption: the splits are invalid, or a split of the previous run is missing.
        ManifestError, StorageError, BadData: an input cannot be used.
    """
    inputs = open_inputs(settings.features)
    root = inputs.root if settings.root is None else locate(settings.root)
    previous_run = table = None
    if settings.keep_splits is not None:
        splits = [ratio.split for ratio in parse_ratios(settings.ratios or "")]
        previous_run = open_previous_run(settings.keep_splits, root, splits)
    if settings.split_table is not None:
        table = open_split_table(settings.split_table)
    sources = SplitSources(previous_run, table)
    size = int(settings.shard_bytes or DEFAULT_SHARD_BYTES)
    sizes = ShardSizes(settings.lanes, settings.shards, size)
    recipe = _recipe(settings, sizes, sources)
    references = tuple(opened.reference(root) for opened in inputs.manifests)
    if previous_run is not None:
        references += (previous_run.reference,)
    identities = [reference.identity for reference in references]
    name = settings.name or run_name("shards", recipe, identities)
    plan = Plan("shards", name, run_folder(root, "shards", name), recipe, references)
    return RequestedRun(inputs, sources, recipe, plan, sizes)


def _recipe(settings: Assignment, sizes: ShardSizes, sources: SplitSources) -> ShardsRecipe:
    ratios = settings.ratios
    return ShardsRecipe(
        algorithm=ALGORITHM,
        seed=settings.seed,
        lanes=sizes.lanes,
        shards=sizes.shards,
        shard_bytes=sizes.shard_bytes if sizes.shards is None else None,
        splits={} if ratios is None else ratios_to_recipe(parse_ratios(ratios)),
        # A pattern or a table also names splits of recordings, so a recording needs no group.
        ungrouped="by-recording" if ratios is None else settings.ungrouped,
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
        split_table_sha256=None if sources.table is None else sources.table.sha256,
        unassigned=settings.unassigned,
    )


def codec_of(recipe: ShardsRecipe) -> Codec:
    """Return the codec of a recipe's shards."""
    return Codec(recipe.format, recipe.compression)


def policy_of(recipe: ShardsRecipe, sources: SplitSources = NO_SOURCES) -> SplitPolicy:
    """Return the split policy of a recipe."""
    by_recording = recipe.split_pattern is not None
    if sources.table is not None:
        by_recording = sources.table.key == "recording"
    return SplitPolicy(
        seed=recipe.seed,
        ratios=ratios_from_recipe(recipe.splits),
        ungrouped=recipe.ungrouped,
        stratify=recipe.stratify,
        split_pattern=recipe.split_pattern,
        split_table=recipe.split_table_sha256,
        split_key="recording" if by_recording else "group",
        unassigned=recipe.unassigned,
        previous_seed=None if sources.previous_run is None else sources.previous_run.seed,
    )


def schema_of(recipe: ShardsRecipe, feature: ShardFeature) -> RecordSchema:
    """Return the schema of a recipe's records."""
    return RecordSchema(feature, recipe.target, recipe.labels)


def rules_of(recipe: ShardsRecipe, inputs: Inputs, sources: SplitSources = NO_SOURCES) -> Rules:
    """Return the rules of a recipe for the windows of *inputs*."""
    min_samples = recipe.min_seconds * inputs.sample_rate
    return Rules(
        policy=policy_of(recipe, sources),
        schema=schema_of(recipe, inputs.feature),
        filters=Filters(recipe.only_labels, recipe.without_flags, min_samples),
        class_weights=recipe.class_weights,
        resample=recipe.resample,
    )
