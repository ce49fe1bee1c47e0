"""Whether an inventory is what its manifest says."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from audioloom_manifest import Opened, RecordingsManifest

from audioloom_featurizer.inventory.parquet import (
    LABELLED,
    LISTED,
    Counts,
    RowDigest,
    inventory_location,
    read_batches,
)
from audioloom_featurizer.inventory.paths import unsafe


def check_inventory(opened: Opened[RecordingsManifest]) -> list[str]:
    """Problems in words: columns, order, paths that leave the source, counts, listing.

    Args:
        opened: a manifest whose files were found to be what it says.
    """
    where = inventory_location(opened, checked_before=True)
    problems: list[str] = []
    counts, listing, labels = Counts(), RowDigest(LISTED), RowDigest(LABELLED)
    last = None
    for batch in read_batches(where):
        counts.add(batch)
        listing.add(batch)
        labels.add(batch)
        paths = batch.column("path")
        before = pa.concat_arrays([pa.array([last], pa.string()), paths[: len(paths) - 1]])
        for which, trouble in (
            (pc.less_equal(paths, before), "is not in order, or stands there twice"),
            (unsafe(paths), "is no path below the source"),
        ):
            wrong = paths.filter(which).to_pylist()
            problems.extend(f"{where}: {path[:200]!r} {trouble}" for path in wrong)
        last = paths[len(paths) - 1].as_py()
    expected, found_listing = opened.manifest.recipe.listing_sha256, listing.hexdigest()
    if found_listing != expected:
        problems.append(f"{where}: expected the listing {expected}, found {found_listing}")
    said = opened.manifest.recipe.labels_sha256
    if said is not None and said != labels.hexdigest():
        problems.append(f"{where}: expected the labels {said}, found {labels.hexdigest()}")
    found, claimed = counts.stats(), opened.manifest.stats
    return problems + [
        f"{where}: expected {name} = {getattr(claimed, name)}, found {getattr(found, name)}"
        for name in type(claimed).model_fields
        if name != "dropped"  # what was left out leaves no trace
        and getattr(found, name) != getattr(claimed, name)
    ]
