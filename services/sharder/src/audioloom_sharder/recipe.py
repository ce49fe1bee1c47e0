"""The run that settings request: its recipe, name and folder, and the rules of the recipe."""

from dataclasses import dataclass

from audioloom_manifest.kinds import ShardsRecipe
from audioloom_manifest.publication import Plan
from audioloom_storage import locate

from audioloom_sharder.balance.class_weights import parse_weights
from audioloom_sharder.inputs.manifests import Inputs, open_inputs
from audioloom_sharder.rules import Rules
from audioloom_sharder.settings import DEFAULT_SHARD_BYTES, LANES, Assignment, split_words
from audioloom_sharder.splits.assign import SplitSource
from audioloom_sharder.splits.groups_file import PreviousRun, open_previous_run
from audioloom_sharder.splits.ratios import parse_ratios
from audioloom_sharder.splits.table import SplitTable, open_split_table

ALGORITHM = 1
"""Raised whenever the same settings and inputs would give other bytes."""
_SHARDS_A_LANE = 4


@dataclass(frozen=True)
class RequestedRun:
    """The run that settings request, decided before any work."""

    inputs: Inputs
    split_source: SplitSource
    plan: Plan
    rules: Rules


def request_run(settings: Assignment) -> RequestedRun:
    """Open the inputs, and decide the recipe and the name of the run.

    A previous run is the last input, because it changes the content of the new run.

    Raises:
        InvalidOption: the splits are invalid, or a split of the previous run is missing.
        ManifestError, StorageError, BadData: an input cannot be used.
    """
    inputs = open_inputs(settings.features)
    root = inputs.manifests[0].root if settings.root is None else locate(settings.root)
    references = tuple(opened.reference(root) for opened in inputs.manifests)
    source: SplitSource = None
    if settings.keep_splits is not None:
        splits = parse_ratios(settings.ratios or "")
        source = open_previous_run(settings.keep_splits, root, splits)
        references += (source.reference,)
    elif settings.split_table is not None:
        source = open_split_table(settings.split_table)
    recipe = _recipe(settings, source, inputs)
    plan = Plan.of("shards", recipe, references, root, settings.name)
    return RequestedRun(inputs, source, plan, rules_of(recipe, inputs, source))


def _recipe(settings: Assignment, source: SplitSource, inputs: Inputs) -> ShardsRecipe:
    ratios = parse_ratios(settings.ratios) if settings.ratios is not None else {}
    only_labels = split_words(settings.only_labels)
    shard_bytes = int(settings.shard_bytes or DEFAULT_SHARD_BYTES)
    shards = settings.shards or inputs.bytes / shard_bytes
    return ShardsRecipe(
        algorithm=ALGORITHM,
        seed=settings.seed,
        lanes=settings.lanes or default_lanes(shards, requested=settings.shards),
        shards=settings.shards,
        shard_bytes=shard_bytes if settings.shards is None else None,
        splits={name: float(ratio) for name, ratio in ratios.items()},
        # A pattern or a table also names splits of recordings, so a recording needs no group.
        ungrouped=settings.ungrouped if ratios else "by-recording",
        labels=split_words(settings.labels),
        target=settings.target,
        compression=settings.compression,
        format=settings.format,
        only_labels=only_labels and tuple(sorted(only_labels)),
        without_flags=tuple(sorted(split_words(settings.without_flags) or ())),
        min_seconds=settings.min_seconds,
        class_weights=parse_weights(settings.class_weights),
        resample=settings.resample,
        stratify=settings.stratify,
        split_pattern=settings.split_pattern,
        split_table_sha256=source.sha256 if isinstance(source, SplitTable) else None,
        unassigned=settings.unassigned,
    )


def default_lanes(shards: float, *, requested: int | None) -> int:
    """Return the lanes of a run that asks for none, which has about so many *shards*.

    Many lanes allow many replicas, but one that trains alone holds a shard of each lane at a time.
    A number of shards that was *requested* must be a multiple of the lanes.
    """
    fitting = (lanes for lanes in LANES if (requested or 0) % lanes == 0)
    return next((lanes for lanes in fitting if shards >= lanes * _SHARDS_A_LANE), LANES[-1])


def rules_of(recipe: ShardsRecipe, inputs: Inputs, source: SplitSource) -> Rules:
    """Return the rules of a recipe for the windows of *inputs*."""
    by_path = isinstance(source, SplitTable) and source.column == "path"
    return Rules(
        recipe,
        inputs.feature,
        inputs.manifests[0].manifest.recipe.feature.sample_rate,
        split_key="recording" if by_path or recipe.split_pattern is not None else "group",
        previous_seed=source.seed if isinstance(source, PreviousRun) else None,
    )
