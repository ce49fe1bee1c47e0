"""Whether an inventory is what its manifest says."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from audioloom_manifest import Opened, RecordingsManifest
from audioloom_manifest.fields import MOST_PATH_BYTES

from audioloom_featurizer.inventory import (
    Counts,
    inventory_location,
    listing_digest,
    read_batches,
)


def check_inventory(opened: Opened[RecordingsManifest]) -> list[str]:
    """Problems in words: columns, order, paths that leave the source, counts, listing.

    Args:
        opened: a manifest whose files were found to be what it says.
    """
    where = inventory_location(opened, checked_before=True)
    problems: list[str] = []
    counts = Counts()
    last = b""

    def watched() -> Iterator[pa.RecordBatch]:
        nonlocal last
        for batch in read_batches(where):
            counts.add(batch)
            for path in batch.column("path").to_pylist():
                if path.encode() <= last:
                    problems.append(f"{where}: {path!r} is not in order, or stands there twice")
                if not is_safe(path):
                    problems.append(f"{where}: {path[:200]!r} is no path below the source")
                last = path.encode()
            yield batch

    listing = listing_digest(watched())
    if listing != opened.manifest.recipe.listing:
        problems.append(
            f"{where}: expected the listing {opened.manifest.recipe.listing}, found {listing}"
        )
    found, claimed = counts.stats(), opened.manifest.stats
    return problems + [
        f"{where}: expected {name} = {getattr(claimed, name)}, found {getattr(found, name)}"
        for name in type(claimed).model_fields
        if getattr(found, name) != getattr(claimed, name)
    ]


def is_safe(path: str) -> bool:
    """Whether a path of an inventory stays below its source. It may hold what file names may."""
    parts = path.split("/")
    return (
        0 < len(path.encode()) <= MOST_PATH_BYTES
        and "\0" not in path
        and not any(part in ("", ".", "..") for part in parts)
    )
