"""`plan`: show the run that a recipe makes of a recordings manifest, and the work left to do."""

from typing import cast

from audioloom_manifest.kinds import FeaturesRecipe, RecordingsManifest
from audioloom_manifest.publication import Plan, find_committed
from audioloom_manifest.reader import Opened, read_manifest
from audioloom_manifest.receipts import read_receipts
from audioloom_runs.tables import facts
from audioloom_stage.logs import bind
from audioloom_stage.result import JSON, Result
from audioloom_storage import Location, locate

from audioloom_featurizer.extraction.header_probe import fit, probe
from audioloom_featurizer.extraction.partition import Unit, partition, receipt_name
from audioloom_featurizer.extraction.recipe import plan_recipe, recipe_of, settings_from_recipe
from audioloom_featurizer.inventory.parquet import inventory_location, read_batches
from audioloom_featurizer.settings import PlanSettings


def plan(settings: PlanSettings) -> Result:
    """Show what `run` would do; write nothing."""
    opened, planned = planned_run(settings)
    standing = find_committed(planned)
    inventory = inventory_location(opened)
    source = locate(opened.manifest.recipe.source)
    units = units_of(planned, inventory, source)
    names = [receipt_name(unit, planned.basis) for unit in units]
    finished = len(units) if standing else len(read_receipts(planned.folder, names))
    state = "committed" if standing else "started" if finished else "new"
    stats = opened.manifest.stats
    extraction = settings_from_recipe(recipe_in(planned), settings.feature)
    headers = probe(source, inventory, extraction)
    fitting = fit(headers, extraction)
    feature = recipe_in(planned).feature
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
        "padding": f"{fitting.padding:.1%}",
    }
    shown = facts({key: str(value) for key, value in data.items()})
    whole = {**data, "padding": fitting.padding, "advice": [*fitting.advice]}
    return Result("\n".join([shown, *fitting.advice]), whole)


def planned_run(settings: PlanSettings) -> tuple[Opened[RecordingsManifest], Plan]:
    """Open the recordings manifest that the settings name, and plan the features run."""
    opened = read_manifest(settings.recordings, "recordings")
    root = opened.root if settings.root is None else locate(settings.root)
    recipe = recipe_of(settings, opened.manifest.stats)
    planned = plan_recipe(recipe, opened, root, settings.name)
    bind(run=planned.name, input=opened.manifest.name)
    return opened, planned


def units_of(planned: Plan, inventory: Location, source: Location) -> list[Unit]:
    """Cut the units of a features run, in the order of the inventory."""
    recipe = recipe_in(planned)
    bounds = {"most_bytes": recipe.unit_bytes, "most_recordings": recipe.unit_recordings}
    return list(partition(read_batches(inventory), source, **bounds))


def recipe_in(planned: Plan) -> FeaturesRecipe:
    """The recipe of a features run."""
    return cast("FeaturesRecipe", planned.recipe)
