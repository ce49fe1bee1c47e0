"""`gc`: what tries that died, or lost a race, have left under shards/."""

from collections.abc import Iterator

from audioloom_manifest import garbage
from audioloom_runs.garbage import collect_garbage
from audioloom_runs.settings import GcSettings
from audioloom_stage import Result
from audioloom_storage import Entry, Location

from audioloom_sharder.formats.names import is_product
from audioloom_sharder.steps.job import is_intermediate


def gc(settings: GcSettings) -> Result:
    """Find the sharder's garbage under a root; delete it when told to."""
    return collect_garbage("audioloom-sharder gc", settings, _find)


def _find(root: Location, older_than: float) -> Iterator[Entry]:
    return garbage(root, "shards", is_ours, older_than=older_than)


def is_ours(path: str) -> bool:
    """Whether the sharder gives a file this path below its run folder."""
    folder, _, name = path.partition("/")
    return is_product(folder, name) or is_intermediate(path)
