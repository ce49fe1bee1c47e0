"""Whether an inventory is what its manifest says."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
from audioloom_manifest import Opened, RecordingsManifest

from audioloom_featurizer.inventory import (
    LABELLED,
    Counts,
    RowDigest,
    inventory_location,
    listing_digest,
    read_batches,
)
from audioloom_featurizer.paths import unsafe


def check_inventory(opened: Opened[RecordingsManifest]) -> list[str]:
    """Problems in words: columns, order, paths that leave the source, counts, listing.

    Args:
        opened: a manifest whose files were found to be what it says.
    """
    where = inventory_location(opened, checked_before=True)
    problems: list[str] = []
    counts, labels = Counts(), RowDigest(LABELLED)
    last = None

    def watched() -> Iterator[pa.RecordBatch]:
        nonlocal last
        for batch in read_batches(where):
            counts.add(batch)
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
            yield batch

    listing = listing_digest(watched())
    if listing != opened.manifest.recipe.listing:
        problems.append(
            f"{where}: expected the listing {opened.manifest.recipe.listing}, found {listing}"
        )
    said = opened.manifest.recipe.labels
    if said is not None and said != labels.hexdigest():
        problems.append(f"{where}: expected the labels {said}, found {labels.hexdigest()}")
    found, claimed = counts.stats(), opened.manifest.stats
    return problems + [
        f"{where}: expected {name} = {getattr(claimed, name)}, found {getattr(found, name)}"
        for name in type(claimed).model_fields
        if name != "dropped"  # what was left out leaves no trace
        and getattr(found, name) != getattr(claimed, name)
    ]
