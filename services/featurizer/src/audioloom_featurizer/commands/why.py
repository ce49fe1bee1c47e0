"""`why`: say why `run` would extract features again; read manifests and inventories alone."""

from collections.abc import Iterator
from functools import partial

from audioloom_manifest.kinds import FeaturesManifest, RecordingsManifest
from audioloom_manifest.reader import Opened
from audioloom_runs.differences import open_input
from audioloom_runs.why import Options, why
from audioloom_stage.result import Result

from audioloom_featurizer.attempts import new_attempt
from audioloom_featurizer.commands.plan import planned_run
from audioloom_featurizer.inventory.parquet import LISTING_COLUMNS, inventory_location, read_batches
from audioloom_featurizer.inventory.subset import new_recordings
from audioloom_featurizer.inventory.tally import Tally
from audioloom_featurizer.settings import RunSettings

_NAMES = {
    "algorithm": "the revision of the algorithm",
    "feature.name": "--feature",
    "feature.parameters.argument": "--feature-arg",
    "feature.parameters.source_sha256": "the file of --feature",
    "feature.shape": "the shape of a window (coefficients, frames)",
    "headerless.channels": "--raw-channels",
    "headerless.coding": "--raw-format",
    "headerless.sample_rate": "--raw-rate",
}


def explain(settings: RunSettings) -> Result:
    """Compare the features run that the settings ask for with the nearest finished one."""
    settings.check_configured()
    opened, planned = planned_run(settings)
    options = Options(settings, _NAMES)
    return why(planned, new_attempt({}), options, partial(_changed_recordings, opened))


def _changed_recordings(
    now: Opened[RecordingsManifest], nearest: Opened[FeaturesManifest]
) -> Iterator[str]:
    """Yield how many recordings of the same source are new, changed or gone, with examples."""
    for reference in nearest.manifest.inputs:
        before = open_input(reference, nearest.root)
        if before is None or before.manifest.identity == now.manifest.identity:
            continue
        if before.manifest.recipe.source != now.manifest.recipe.source:
            continue
        tally = Tally()
        listed = read_batches(inventory_location(now), LISTING_COLUMNS)
        for batch in new_recordings(listed, [before], tally):
            tally.add("new", batch.column("path"))
        for what in ("new", "changed", "gone"):
            if count := tally.counts[what]:
                examples = tally.examples[what]
                more = ", …" if count > len(examples) else ""
                yield f"recordings that are {what}: {count:,} ({', '.join(examples)}{more})"
