"""`retry`: extract again the recordings that a committed run refused but that may succeed now.

Recordings that were refused because storage or a decoder's limits failed them become a new
recordings manifest and then a new features run by the same recipe. Both runs together equal one run
without failures.
"""

import shlex
from collections.abc import Sequence
from dataclasses import replace

import structlog
from audioloom_manifest.kinds import FeaturesManifest, RecordingsManifest
from audioloom_manifest.publication import Plan, commit, find_committed
from audioloom_manifest.reader import Opened, read_manifest
from audioloom_stage.logs import bind
from audioloom_stage.result import Result

from audioloom_featurizer.attempts import new_attempt
from audioloom_featurizer.commands.inspect import ledger_rows
from audioloom_featurizer.commands.run import extract_features
from audioloom_featurizer.errors import BadInventory, InvalidOption, NoRecordings
from audioloom_featurizer.extraction.error_budget import parse_budget
from audioloom_featurizer.extraction.recipe import ALGORITHM
from audioloom_featurizer.extraction.scheduler import Runner
from audioloom_featurizer.inventory.parquet import (
    ROLE,
    InventorySummary,
    inventory_location,
    read_recordings,
    write_inventory,
)
from audioloom_featurizer.scratch import publish_as, scratch_file
from audioloom_featurizer.settings import RETRY_BUDGET, RetrySettings
from audioloom_featurizer.tables.recipe import check_not_imported
from audioloom_featurizer.verification import need_recordings

log = structlog.get_logger()


def retry(settings: RetrySettings, runner: Runner | None = None) -> Result:
    """Retry the recordings of a committed run that storage or a decoder's limits failed."""
    settings.check_configured()
    budget = parse_budget(settings.error_budget, default=RETRY_BUDGET)
    features = read_manifest(settings.features, "features")
    opened = commit_retryable(features, settings.also)
    recipe, root = features.manifest.recipe, features.root
    planned = Plan.of("features", recipe, (opened.reference(root),), root, settings.name)
    bind(run=planned.name, input=opened.manifest.name)
    both = (features.folder, planned.folder)
    done = extract_features(opened, planned, budget, settings, runner)
    together = shlex.join(["audioloom-sharder", "plan", *map(str, both)])
    return replace(done, next=(*done.next[:-1], together))


def commit_retryable(
    features: Opened[FeaturesManifest], also: Sequence[str]
) -> Opened[RecordingsManifest]:
    """Commit or find the manifest of the recordings to retry: those that a run refused.

    Raises:
        NoRecordings: there is nothing to retry, or the run's input is missing.
        InvalidOption: the ledger has no such class, or the features have another revision or were
            imported.
        BadInventory: the ledger names a recording that is not in the inventory.
    """
    check_not_imported(features)
    algorithm = features.manifest.recipe.algorithm
    if algorithm != ALGORITHM:
        raise InvalidOption(
            "this release computes other values",
            where=features.location,
            expected=f"features of algorithm {ALGORITHM}",
            found=f"algorithm {algorithm}",
            hint="Retry with the release that made them, or run all of it again.",
        )
    recordings = need_recordings(features)
    paths = _chosen(features, also)
    inventory = inventory_location(recordings)
    with scratch_file() as sink:
        written = write_inventory(sink, read_recordings(inventory, paths), inventory)
        found = written.stats().recordings
        if found != len(paths):
            raise BadInventory(
                where=inventory,
                expected=f"the {len(paths)} recordings that the ledger names",
                found=found,
            )
        plan = _plan(recordings, features, written)
        standing: Opened[RecordingsManifest] | None = find_committed(plan)
        if standing is not None:
            return standing
        entry = publish_as(sink, plan.folder, ROLE, role=ROLE, records=found)
    opened: Opened[RecordingsManifest] = commit(
        plan, new_attempt({}), [entry], written.stats()
    ).opened
    log.info("recordings to retry", recordings=found, manifest=str(opened.location))
    return opened


def _plan(
    recordings: Opened[RecordingsManifest],
    features: Opened[FeaturesManifest],
    written: InventorySummary,
) -> Plan:
    before = recordings.manifest.recipe
    labels = None if before.labels_sha256 is None else written.labelling_digest.hexdigest()
    digests = {"listing_sha256": written.listing_digest.hexdigest(), "labels_sha256": labels}
    recipe = before.model_copy(update=digests)
    root = features.root
    inputs = (recordings.reference(root), features.reference(root))
    return Plan.of("recordings", recipe, inputs, root, None)


def _chosen(features: Opened[FeaturesManifest], also: Sequence[str]) -> frozenset[str]:
    kinds = features.manifest.stats.refusals
    if unknown := sorted(set(also) - kinds.keys()):
        raise InvalidOption(
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
            expected="refused recordings that another attempt may read",
            found=refused or "none refused",
            hint="After you have fixed the cause, add their class with --also." if kinds else "",
        )
    return chosen
