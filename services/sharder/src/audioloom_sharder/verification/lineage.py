"""What a run was made from, opened again: `verify` decides its splits a second time."""

from __future__ import annotations

from dataclasses import dataclass

from audioloom_manifest import InputRef, Opened, ShardsManifest, read_manifest, resolve_input
from audioloom_storage import Location

from audioloom_sharder.errors import BadTable, DamagedShards
from audioloom_sharder.inputs.manifests import Source, open_inputs
from audioloom_sharder.io.executor import RunUnits
from audioloom_sharder.recipe import rules_of
from audioloom_sharder.splits.lookup import Placed
from audioloom_sharder.splits.previous_run import Given, Kept, SplitTable, keep, open_table
from audioloom_sharder.steps.decide_splits import place_in_memory
from audioloom_sharder.windows.rules import Rules

Unit = tuple[int, Source, Placed | None]
"""A features file: its number, itself, and what was decided for it."""


@dataclass(frozen=True)
class MadeFrom:
    """The inputs, and the rules with all that these say."""

    rules: Rules
    units: list[Unit]


def kept_reference(opened: Opened[ShardsManifest]) -> InputRef | None:
    """The run whose splits were kept, if one was."""
    kept = [one for one in opened.manifest.inputs if one.kind == "shards"]
    return kept[0] if kept else None


def location_of(unit: Unit) -> Location:
    """What a unit reads."""
    return unit[1].location


def made_from(opened: Opened[ShardsManifest], table: str | None, run_units: RunUnits) -> MadeFrom:
    """Open the inputs of a run, and decide its splits as it did.

    Args:
        opened: the run.
        table: where the table of splits lies now, when it was moved.
        run_units: what runs units.

    Raises:
        ManifestError, StorageError, BadData: an input is gone, damaged, or another one.
    """
    recipe = opened.manifest.recipe
    places = [
        _same(opened, reference)
        for reference in opened.manifest.inputs
        if reference.kind == "features"
    ]
    inputs = open_inputs(places)
    given = Given(_kept(opened), _table(opened, table))
    rules = rules_of(recipe, inputs, given)
    sources = inputs.sources
    rules, placed = place_in_memory(sources, rules, given, inputs.where, run_units)
    return MadeFrom(rules, list(zip(range(len(sources)), sources, placed, strict=True)))


def _same(opened: Opened[ShardsManifest], reference: InputRef) -> str:
    """Where an input lies, once it is known to be what was read."""
    place = resolve_input(reference, opened.root)
    found = read_manifest(place, reference.kind)
    if found.manifest.identity != reference.identity:
        raise DamagedShards(
            expected=f"the {reference.kind} {reference.identity}",
            found=found.manifest.identity,
            where=found.location,
            hint=f"Other {reference.kind} lie there now.",
        )
    return str(place)


def _kept(opened: Opened[ShardsManifest]) -> Kept | None:
    reference = kept_reference(opened)
    if reference is None:
        return None
    wished = sorted(opened.manifest.recipe.splits)
    return keep(_same(opened, reference), opened.root, wished)


def _table(opened: Opened[ShardsManifest], place: str | None) -> SplitTable | None:
    expected = opened.manifest.recipe.split_table_sha256
    if expected is None:
        return None
    where = place or opened.manifest.execution.settings.get("split_table")
    if not isinstance(where, str):
        raise BadTable(
            expected="to know where the table of splits lies",
            found="nothing",
            where=opened.location,
            hint="Give it with --split-table.",
        )
    table = open_table(where)
    if table.sha256 != expected:
        raise BadTable(
            expected=f"the table with SHA-256 {expected}",
            found=table.sha256,
            where=table.location,
            hint="Another table lies there now: give the right one with --split-table.",
        )
    return table
