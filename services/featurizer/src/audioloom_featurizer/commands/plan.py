"""`plan`: show the run that a recipe makes of a recordings manifest, and the work left to do."""

import pickle
from functools import partial
from typing import cast

from audioloom_manifest.kinds import FeaturesRecipe, RecordingsManifest
from audioloom_manifest.publication import Plan, find_committed
from audioloom_manifest.reader import Opened, read_manifest
from audioloom_manifest.receipts import read_receipts
from audioloom_runs.capacity import capacity_result
from audioloom_runs.cost import cost_facts
from audioloom_runs.tables import facts
from audioloom_stage.logs import bind
from audioloom_stage.result import JSON, Result
from audioloom_storage import locate

from audioloom_featurizer.capacity import cost_of, lines_of
from audioloom_featurizer.extraction.header_probe import fit, probe
from audioloom_featurizer.extraction.partition import Unit, partition, receipt_name
from audioloom_featurizer.extraction.recipe import recipe_of, settings_from_recipe
from audioloom_featurizer.extraction.unit import UnitContext, extract_unit
from audioloom_featurizer.inventory.parquet import formats_in, inventory_location, read_batches
from audioloom_featurizer.settings import PlanSettings, RecipeSettings


def plan(settings: PlanSettings) -> Result:
    """Show what `run` would do, or what it takes; write nothing."""
    opened, planned = planned_run(settings)
    standing = find_committed(planned)
    context = context_of(opened, planned, settings.feature)
    units = units_of(planned, context)
    if settings.capacity:
        closure = len(pickle.dumps(partial(extract_unit, context)))
        formats = formats_in(context.inventory)
        lines = lines_of(context.settings, formats, units=len(units), closure=closure)
        return capacity_result(lines, {"name": planned.name, "location": str(planned.folder)})
    names = [receipt_name(unit, planned.basis) for unit in units]
    finished = len(units) if standing else len(read_receipts(planned.folder, names))
    state = "committed" if standing else "started" if finished else "new"
    stats = opened.manifest.stats
    headers = probe(context.source, context.inventory, context.settings)
    padding, advice = fit(headers, context.settings)
    feature = recipe_in(planned).feature
    cost = cost_of(planned, context.settings, settings, stats, len(units))
    data: dict[str, JSON] = {
        "name": planned.name,
        "feature": f"{feature.name} {feature.shape[0]} × {feature.shape[1]} {feature.dtype}",
        "location": str(planned.folder),
        "state": state,
        "recordings": stats.recordings,
        "bytes": stats.bytes,
        "units": len(units),
        "units_finished": finished,
        "units_to_do": len(units) - finished,
        "largest_unit_bytes": max(unit.bytes for unit in units),
        "largest_unit_recordings": max(unit.recordings for unit in units),
        "recordings_probed": len(headers),
        "padding": f"{padding:.1%}",
    }
    shown = facts({key: str(value) for key, value in data.items()} | cost_facts(cost))
    whole = {
        **data,
        "padding": padding,
        "advice": advice,
        "cost": {name: each.to_json() for name, each in cost.items()},
    }
    return Result("\n".join([shown, *advice]), whole)


def planned_run(settings: RecipeSettings) -> tuple[Opened[RecordingsManifest], Plan]:
    """Open the recordings manifest that the settings name, and plan the features run."""
    opened = read_manifest(settings.recordings, "recordings")
    root = opened.root if settings.root is None else locate(settings.root)
    recipe = recipe_of(settings, opened.manifest.stats)
    planned = Plan.of("features", recipe, (opened.reference(root),), root, settings.name)
    bind(run=planned.name, input=opened.manifest.name)
    return opened, planned


def units_of(planned: Plan, context: UnitContext) -> list[Unit]:
    """Cut the units of a features run, in the order of the inventory."""
    recipe = recipe_in(planned)
    bounds = {"most_bytes": recipe.unit_bytes, "most_recordings": recipe.unit_recordings}
    return list(partition(read_batches(context.inventory), context.source, **bounds))


def context_of(
    opened: Opened[RecordingsManifest], planned: Plan, function: str | None, attempt: str = ""
) -> UnitContext:
    """The facts common to all units of a run; a mere plan has no id of an attempt.

    The *function* is the reference of a function that makes the features.
    """
    recipe = recipe_in(planned)
    return UnitContext(
        folder=planned.folder,
        inventory=inventory_location(opened),
        source=locate(opened.manifest.recipe.source),
        feature=recipe.feature,
        settings=settings_from_recipe(recipe, function),
        attempt=attempt,
        basis=planned.basis,
        whole=recipe.digest == "whole",
    )


def recipe_in(planned: Plan) -> FeaturesRecipe:
    """The recipe of a features run."""
    return cast("FeaturesRecipe", planned.recipe)
