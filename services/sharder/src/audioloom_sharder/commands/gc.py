"""`gc`: find and delete files under shards/ that dead or duplicate attempts left."""

from audioloom_manifest.garbage_collection import garbage
from audioloom_runs.garbage import collect_garbage
from audioloom_runs.settings import GcSettings
from audioloom_stage.result import Result

from audioloom_sharder.formats.names import is_product
from audioloom_sharder.steps.job import is_intermediate


def gc(settings: GcSettings) -> Result:
    """Find the sharder's garbage under a root; delete it if the settings say so."""
    return collect_garbage(
        "audioloom-sharder gc",
        settings,
        lambda root, older_than: garbage(root, "shards", is_ours, older_than=older_than),
    )


def is_ours(path: str) -> bool:
    """Return True if *path*, below a run folder, is one that the sharder writes."""
    return is_product(path) or is_intermediate(path)
