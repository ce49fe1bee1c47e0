"""Check an inventory against its manifest."""

import pyarrow as pa
import pyarrow.compute as pc
from audioloom_manifest.kinds import RecordingsManifest
from audioloom_manifest.reader import Opened

from audioloom_featurizer.inventory.parquet import ROLE, InventorySummary, only_file, read_batches
from audioloom_featurizer.inventory.paths import unsafe


def check_inventory(opened: Opened[RecordingsManifest]) -> list[str]:
    """List problems as texts: columns, order, paths outside the source, counts, digests.

    Args:
        opened: a manifest whose files have the right checksums.
    """
    where = opened.folder / only_file(opened, ROLE).path
    problems: list[str] = []
    summary = InventorySummary()
    last = None
    for batch in read_batches(where):
        summary.add(batch)
        paths = batch.column("path")
        before = pa.concat_arrays([pa.array([last], pa.string()), paths[: len(paths) - 1]])
        for which, trouble in (
            (pc.less_equal(paths, before), "is not in order, or is there twice"),
            (unsafe(paths), "is not a path below the source"),
        ):
            wrong = paths.filter(which).to_pylist()
            problems.extend(f"{where}: {path[:200]!r} {trouble}" for path in wrong)
        last = paths[len(paths) - 1].as_py()
    recipe, claimed, counted = opened.manifest.recipe, opened.manifest.stats, summary.stats()
    digests = {
        "listing": (recipe.listing_sha256, summary.listing_digest.hexdigest()),
        "labels": (recipe.labels_sha256, summary.labelling_digest.hexdigest()),
    }
    problems += [
        f"{where}: expected the {name} {expected}, found {found}"
        for name, (expected, found) in digests.items()
        if expected not in (None, found)
    ]
    return problems + [
        f"{where}: expected {name} = {getattr(claimed, name)}, found {getattr(counted, name)}"
        for name in type(claimed).model_fields
        if name != "dropped"  # dropped recordings leave no trace
        and getattr(counted, name) != getattr(claimed, name)
    ]
