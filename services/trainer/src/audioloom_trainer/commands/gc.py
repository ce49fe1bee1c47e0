"""`gc`: find and remove files in runs/ that nothing needs any more."""

import re
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import filterfalse

from audioloom_manifest.garbage_collection import garbage, remove_garbage
from audioloom_manifest.layout import MANIFEST_NAME
from audioloom_manifest.reader import Opened, list_manifests
from audioloom_runs.garbage import collect_garbage
from audioloom_runs.settings import GcSettings
from audioloom_stage.result import Result
from audioloom_storage import (
    Entry,
    Location,
    NotAFolder,
    NotFound,
    exists,
    remove_empty_folder,
    stat,
    walk,
)

from audioloom_trainer.runs.checkpoint import RECORD_NAME, checkpoint_folders

# Files that the trainer writes below a run, except its progress, which is the run's history.
_OURS = re.compile(
    r"report-[0-9a-f]{12}\.html"
    r"|logs/tensorboard/(train|val)/events\.out\.tfevents\.[0-9]{10}\.[0-9]{6}\.[0-9a-f]{8}"
    r"|model/(weights|model|history|evaluation|keras)-[0-9a-f]{12}\.(npz|json|keras)"
    r"|model/saved-model-[0-9a-f]{12}/((saved_model|fingerprint|keras_metadata)\.pb"
    r"|variables/variables\.(index|data-[0-9]{5}-of-[0-9]{5}))"
    r"|source/[0-9a-f]{12}/([^/]+/)*[^/]+\.py"
    r"|checkpoints/step-[0-9]{8,}/(commit\.json|state-[0-9a-f]{12}\.npz)"
)
# Files that stay as the run's history: section 6 of the contract. The launcher writes most.
_KEPT = re.compile(
    r"progress/[0-9]+(\.[0-9]+)?\.jsonl|evaluations/step-[0-9]{8,}\.json"
    r"|attempts/[0-9]+(\.started|\.members)?\.json|submissions/[0-9a-f]{32}\.json"
    r"|sidecars/[0-9]+\.json|logs/[0-9]+/[0-9]+(\.[0-9]+-[0-9]+)?\.log"
)


def gc(settings: GcSettings) -> Result:
    """Find files of no manifest and unneeded checkpoints; remove them with --delete.

    A committed run needs no checkpoint. An unfinished run keeps its whole checkpoints. Files whose
    names the trainer does not give are never touched.
    """
    remove = partial(_remove, settings.older_than)
    return collect_garbage("audioloom-trainer gc", settings, _find, remove=remove)


def is_ours(path: str) -> bool:
    """Return whether the trainer writes files of this path below a run folder."""
    return _OURS.fullmatch(path) is not None


def _find(root: Location, older_than: float) -> Iterator[Entry]:
    yield from garbage(
        root,
        "training-run",
        is_ours,
        older_than=older_than,
        is_kept=lambda path: _KEPT.fullmatch(path) is not None,
    )
    before = time.time_ns() - int(older_than * 1e9)
    for folder, manifest in list_manifests(root, "training-run"):
        if manifest is not None:
            continue  # committed: handled above; unreadable: leave it alone
        for checkpoint in checkpoint_folders(folder):
            if exists(checkpoint.location / RECORD_NAME):
                continue  # whole, or damaged, or of a later release: leave it alone
            for entry in walk(checkpoint.location, within=root, links=False):
                path = entry.location.relative_to(folder)  # temporary files are found above
                if entry.modified_ns <= before and is_ours(path):
                    yield entry


def _remove(older_than: float, root: Location, found: Iterable[Entry]) -> Iterator[Entry]:
    # First list the old checkpoint folders of committed runs, since a removal renews their time.
    # Folders of unfinished runs stay: a training may be about to write there.
    before, folders = time.time_ns() - int(older_than * 1e9), list[Location]()
    for run, manifest in list_manifests(root, "training-run"):
        if isinstance(manifest, Opened):
            with suppress(NotFound):
                entries = (*checkpoint_folders(run), stat(run / "checkpoints"))
                folders += [each.location for each in entries if each.modified_ns <= before]
    yield from remove_garbage(root, filterfalse(_is_needed_now, found))
    for folder in folders:
        with suppress(NotAFolder):  # a link has replaced a folder of the path
            remove_empty_folder(folder, within=root)


def _is_needed_now(entry: Entry) -> bool:
    """Return whether a state file now has its commit record: a resumed training completed it."""
    if not entry.location.name.startswith("state-"):
        return False
    folder = entry.location.parent
    return exists(folder / RECORD_NAME) and not exists(folder.parent.parent / MANIFEST_NAME)
