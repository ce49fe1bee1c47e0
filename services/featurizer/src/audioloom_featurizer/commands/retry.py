"""`retry`: the recordings of a committed run that are worth another try, as a recordings manifest.

What failed for want of a service is not lost: another features run takes those recordings alone,
with the same recipe, and both runs together are what one run without failures would have been.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
import structlog
from audioloom_manifest import (
    FeaturesManifest,
    Opened,
    Plan,
    RecordingsManifest,
    commit,
    find_committed,
    read_manifest,
    run_folder,
    run_name,
)
from audioloom_stage import Result, bind
from audioloom_storage import Location

from audioloom_featurizer.attempts import new_attempt
from audioloom_featurizer.commands.inspect import ledger_rows
from audioloom_featurizer.commands.run import extract_features
from audioloom_featurizer.errors import BadInventory, BadWish, NoRecordings
from audioloom_featurizer.extraction.error_budget import parse_budget
from audioloom_featurizer.extraction.recipe import ALGORITHM, plan_with
from audioloom_featurizer.extraction.scheduler import Runner
from audioloom_featurizer.inventory.parquet import (
    ROLE,
    Written,
    inventory_location,
    read_batches,
    write_inventory,
)
from audioloom_featurizer.io.content_addressed import spill
from audioloom_featurizer.settings import RETRY_BUDGET, RetrySettings
from audioloom_featurizer.verification.features import recordings_of

log = structlog.get_logger()


def retry(settings: RetrySettings, runner: Runner | None = None) -> Result:
    """Try the recordings again that a committed run refused for want of a service.

    Features and ledger of what comes of them are a run of their own, with the same recipe.
    """
    settings.check_configured()
    budget = parse_budget(settings.error_budget, default=RETRY_BUDGET)
    features = read_manifest(settings.features, "features")
    opened = commit_retryable(features, settings.also, features.root)
    recipe = features.manifest.recipe
    planned = plan_with(recipe, opened, features.root, settings.name)
    bind(run=planned.name, input=opened.manifest.name)
    done = extract_features(opened, planned, budget, settings, runner)
    together = f"audioloom-sharder plan {features.folder} {planned.folder}"
    return replace(done, next=(*done.next[:-1], together))


def commit_retryable(
    features: Opened[FeaturesManifest], also: Sequence[str], root: Location
) -> Opened[RecordingsManifest]:
    """Commit, or find, the recordings manifest of what is worth another try.

    Args:
        features: the run that refused them.
        also: classes to take besides, whatever their rows say.
        root: where the manifest is to lie.

    Raises:
        NoRecordings: nothing is worth another try, or the run's own input is gone.
        BadWish: a class that the ledger does not hold; features of another revision.
        BadInventory: the ledger names a recording that the inventory does not.
    """
    _check_revision(features)
    recordings = recordings_of(features)
    if recordings is None:
        raise NoRecordings(
            "the recordings manifest is gone, and with it where the recordings lie",
            where=features.location,
            expected="its input",
            found="nothing there",
            hint="Scan again: without changes it is the same.",
        )
    paths = _chosen(features, also)
    inventory = inventory_location(recordings)
    with spill() as sink:
        written = write_inventory(sink, _rows(inventory, paths), inventory)
        found = written.stats.recordings
        if found != len(paths):
            raise BadInventory(
                where=inventory,
                expected=f"the {len(paths)} recordings that the ledger names",
                found=found,
            )
        plan = _plan(recordings, features, written, root)
        standing: Opened[RecordingsManifest] | None = find_committed(plan)
        if standing is not None:
            return standing
        entry = sink.publish_as(plan.folder, ROLE, role=ROLE, records=found)
    opened: Opened[RecordingsManifest] = commit(
        plan, new_attempt({}), [entry], written.stats
    ).opened
    log.info("worth another try", recordings=found, manifest=str(opened.location))
    return opened


def _plan(
    recordings: Opened[RecordingsManifest],
    features: Opened[FeaturesManifest],
    written: Written,
    root: Location,
) -> Plan:
    before = recordings.manifest.recipe
    labels = None if before.labels_sha256 is None else written.labels
    recipe = before.model_copy(update={"listing_sha256": written.listing, "labels_sha256": labels})
    inputs = (recordings.reference(root), features.reference(root))
    name = run_name("recordings", recipe, [each.identity for each in inputs])
    return Plan("recordings", name, run_folder(root, "recordings", name), recipe, inputs)


def _check_revision(features: Opened[FeaturesManifest]) -> None:
    found = features.manifest.recipe.algorithm
    if found != ALGORITHM:
        raise BadWish(
            "this release computes other values",
            where=features.location,
            expected=f"features of algorithm {ALGORITHM}",
            found=f"algorithm {found}",
            hint="Retry with the release that made them, or run all of it again.",
        )


def _chosen(features: Opened[FeaturesManifest], also: Sequence[str]) -> frozenset[str]:
    kinds = features.manifest.stats.refusals
    if unknown := sorted(set(also) - kinds.keys()):
        raise BadWish(
            where="--also",
            expected=f"classes of the ledger: {', '.join(kinds) or 'none, it is empty'}",
            found=unknown[0],
        )
    rows = ledger_rows(features)
    chosen = frozenset(row["path"] for row in rows if row["retryable"] or row["class"] in also)
    if not chosen:
        refused = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        raise NoRecordings(
            "there is nothing to retry",
            where=features.location,
            expected="refused recordings for which another try may help",
            found=refused or "none refused",
            hint="When you have mended the cause, take their class with --also." if kinds else "",
        )
    return chosen


def _rows(inventory: Location, paths: frozenset[str]) -> Iterator[pa.RecordBatch]:
    for batch in read_batches(inventory):
        mask = pa.array([path in paths for path in batch.column("path").to_pylist()])
        if mask.true_count:
            yield batch.filter(mask)
