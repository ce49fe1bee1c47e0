"""`gc`: what lies under a root that no manifest of this stage names."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import suppress

from audioloom_manifest import Kind, garbage, remove_garbage
from audioloom_stage import JSON, Result
from audioloom_storage import Entry, Location, NotFound, finished_path, locate, walk

from audioloom_featurizer.errors import BadWish
from audioloom_featurizer.io.scratch import FOLDER as SCRATCH
from audioloom_featurizer.settings import GcSettings

KINDS: tuple[Kind, ...] = ("recordings", "features")

# What the featurizer writes below a run.
_OURS = re.compile(
    r"units\.parquet"
    r"|inventory-[0-9a-f]{12}\.parquet"
    r"|(features/features|ledger/ledger)-[0-9a-f]{16}-[0-9a-f]{12}\.parquet"
)

# What a scan on YARN writes below `scratch/`, and Spark for it.
_SCRATCH = re.compile(
    r"scan-[0-9a-f]{32}/"
    r"([0-9a-f]{32}\.parquet|labels/(_SUCCESS|(_temporary/.+/)?part-[0-9]{5}-[0-9a-zA-Z.-]+))"
)

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def parse_age(text: str) -> float:
    """Seconds of an age such as 30m, 24h, 7d or 0s.

    Raises:
        BadWish: it is none.
    """
    match = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)([smhd])", text.strip())
    if match is None:
        raise BadWish(
            "this is no age",
            where="--older-than",
            expected="a number and s, m, h or d, such as 24h",
            found=repr(text),
        )
    return float(match[1]) * _SECONDS[match[2]]


def collect(settings: GcSettings) -> Result:
    """Find garbage, and delete it when told to."""
    if settings.dry_run == settings.delete:
        raise BadWish(
            "say whether to delete",
            expected="one of --dry-run and --delete",
            found="both" if settings.delete else "neither",
            hint="--dry-run says what --delete would delete.",
        )
    age = parse_age(settings.older_than)
    root = locate(settings.root)
    found = list(_find(root, age))
    deleted = len(list(remove_garbage(root, found))) if settings.delete else 0
    data: dict[str, JSON] = {
        "files": [str(entry.location) for entry in found],
        "bytes": sum(entry.size for entry in found),
        "deleted": deleted,
    }
    lines = [str(entry.location) for entry in found]
    return Result(lines, data)


def is_ours(path: str) -> bool:
    """Whether the featurizer gives a file this path below its run folder."""
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
