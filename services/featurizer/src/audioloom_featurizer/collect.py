"""`gc`: what lies under a root that no manifest of this stage names."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import suppress

from audioloom_manifest import Kind, garbage
from audioloom_stage import JSON, Result
from audioloom_storage import Entry, NotFound, locate, remove, walk

from audioloom_featurizer.errors import BadWish
from audioloom_featurizer.scratch import FOLDER as SCRATCH
from audioloom_featurizer.settings import GcSettings

KINDS: tuple[Kind, ...] = ("recordings", "features")

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
    found = list(_find(settings.root, age))
    deleted = _delete(found) if settings.delete else 0
    data: dict[str, JSON] = {
        "files": [str(entry.location) for entry in found],
        "bytes": sum(entry.size for entry in found),
        "deleted": deleted,
    }
    lines = [str(entry.location) for entry in found]
    return Result(lines, data)


def _find(root: str, age: float) -> Iterator[Entry]:
    for kind in KINDS:
        yield from garbage(locate(root), kind, older_than=age)
    before = time.time_ns() - int(age * 1e9)
    with suppress(NotFound):
        yield from (each for each in walk(locate(root) / SCRATCH) if each.modified_ns <= before)


def _delete(found: list[Entry]) -> int:
    deleted = 0
    for entry in found:
        try:
            remove(entry.location)
        except NotFound:  # another gc was faster
            continue
        deleted += 1
    return deleted
