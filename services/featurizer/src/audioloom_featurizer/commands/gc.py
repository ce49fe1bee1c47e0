"""`gc`: find files under a root that no manifest of this stage names."""

import re
import time
from collections.abc import Iterator
from contextlib import suppress

from audioloom_manifest.envelope import Kind
from audioloom_manifest.garbage_collection import garbage
from audioloom_runs.garbage import collect_garbage
from audioloom_runs.settings import GcSettings
from audioloom_stage.result import Result
from audioloom_storage import Entry, Location, NotFound, finished_path, walk

from audioloom_featurizer.scratch import FOLDER as SCRATCH

KINDS: tuple[Kind, ...] = ("recordings", "features")

# Files that the featurizer writes below a run.
_OURS = re.compile(
    r"units\.parquet"
    r"|inventory-[0-9a-f]{12}\.parquet"
    r"|(features/features|ledger/ledger)-[0-9a-f]{16}-[0-9a-f]{12}\.parquet"
)

# Files that a scan on YARN, and Spark for a scan or an import, write below `scratch/`.
_SCRATCH = re.compile(
    r"scan-[0-9a-f]{32}/"
    r"([0-9a-f]{32}\.parquet|(labels|windows)/(_SUCCESS|(_temporary/.+/)?part-[0-9]{5}-[0-9a-zA-Z.-]+))"
)


def gc(settings: GcSettings) -> Result:
    """Find garbage; delete it with --delete."""
    return collect_garbage("audioloom-featurizer gc", settings, _find)


def is_ours(path: str) -> bool:
    """Whether the featurizer writes files with this path below a run folder."""
    return _OURS.fullmatch(path) is not None


def _find(root: Location, age: float) -> Iterator[Entry]:
    for kind in KINDS:
        yield from garbage(root, kind, is_ours, older_than=age)
    before = time.time_ns() - int(age * 1e9)
    scratch = root / SCRATCH
    with suppress(NotFound):
        for each in walk(scratch, within=root, links=False):
            path = finished_path(each.location.relative_to(scratch))
            if _SCRATCH.fullmatch(path) and each.modified_ns <= before:
                yield each
