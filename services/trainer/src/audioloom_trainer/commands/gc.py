"""`gc`: what lies in runs/ and nothing needs any more."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import filterfalse

from audioloom_manifest import MANIFEST_NAME, Opened, garbage, list_manifests, remove_garbage
from audioloom_stage import InputMissing, Result
from audioloom_storage import (
    Entry,
    Location,
    NotAFolder,
    NotFound,
    exists,
    finished_path,
    locate,
    remove_empty_folder,
    stat,
    walk,
)

from audioloom_trainer.runs.checkpoint import checkpoint_folders, has_record
from audioloom_trainer.runs.layout import checkpoints_folder
from audioloom_trainer.settings import GcSettings

# What the trainer writes below a run, but for its progress, which tells the run's story.
_OURS = re.compile(
    r"report-[0-9a-f]{12}\.html"
    r"|logs/tensorboard/(train|val)/events\.out\.tfevents\.[0-9]{10}\.[0-9]{6}\.[0-9a-f]{8}"
    r"|model/(weights|model|history|evaluation|keras)-[0-9a-f]{12}\.(npz|json|keras)"
    r"|model/saved-model-[0-9a-f]{12}/((saved_model|fingerprint|keras_metadata)\.pb"
    r"|variables/variables\.(index|data-[0-9]{5}-of-[0-9]{5}))"
    r"|checkpoints/step-[0-9]{8,}/(commit\.json|state-[0-9a-f]{12}\.npz)"
)
# What stays, for it tells the run's story: section 6 of the contract. The launcher writes most.
_KEPT = re.compile(
    r"progress/[0-9]+\.jsonl|evaluations/step-[0-9]{8,}\.json"
    r"|attempts/[0-9]+(\.started|\.members)?\.json|submissions/[0-9a-f]{32}\.json"
    r"|sidecars/[0-9]+\.json|usage/[0-9]+\.[0-9]+\.json|logs/[0-9]+\.[0-9]+(\.[0-9]+)?\.log"
)
_STATE = re.compile(r"checkpoints/step-[0-9]{8,}/state-[0-9a-f]{12}\.npz")


def gc(settings: GcSettings) -> Result:
    """Find, and with --delete remove: files of no manifest, and checkpoints that are not needed.

    A committed run needs no checkpoint. Of an unfinished one the whole checkpoints stay. What has
    another name than the trainer gives is never touched.
    """
    root = locate(settings.root)
    if not exists(root):
        raise InputMissing(expected="a root folder", found="nothing", where=root)
    found = list({entry.location: entry for entry in _found(root, settings)}.values())
    if settings.delete:
        folders = list(_folders(root, settings))  # before what is in them goes: that is a change
        found = list(remove_garbage(root, filterfalse(_is_needed_now, found)))
        for folder in folders:
            with suppress(NotAFolder):  # a link lies there now, or on the way
                remove_empty_folder(folder, within=root)
    size = sum(entry.size for entry in found)
    verb = "removed" if settings.delete else "would remove"
    lines = [str(entry.location) for entry in found]
    again = ["audioloom-trainer", "gc", str(root), "--delete"]
    if settings.older_than_hours != GcSettings.model_fields["older_than_hours"].default:
        again += ["--older-than-hours", f"{settings.older_than_hours:g}"]
    return Result(
        text=[*lines, f"{verb} {len(found):,} files, {size:,} bytes"],
        data={
            "deleted": settings.delete,
            "files": [entry.location.uri for entry in found],
            "bytes": size,
        },
        next=() if settings.delete or not found else (shlex.join(again),),
    )


def is_ours(path: str) -> bool:
    """Whether the trainer gives a file this path below its run folder."""
    return _OURS.fullmatch(path) is not None


def _is_kept(path: str) -> bool:
    return _KEPT.fullmatch(path) is not None


def _found(root: Location, settings: GcSettings) -> Iterator[Entry]:
    seconds = settings.older_than_hours * 3600
    yield from garbage(root, "training-run", is_ours, older_than=seconds, is_kept=_is_kept)
    before = _before(settings)
    for folder, manifest in list_manifests(root, "training-run"):
        if manifest is not None:
            continue  # committed: its checkpoints were found above; unreadable: nothing is known
        for checkpoint in checkpoint_folders(folder):
            if has_record(checkpoint.location):
                continue  # whole; or damaged, or of a later release: nothing is known
            for entry in walk(checkpoint.location, within=root, links=False):
                path = finished_path(entry.location.relative_to(folder))
                if entry.modified_ns <= before and is_ours(path):
                    yield entry


def _is_needed_now(entry: Entry) -> bool:
    """Whether it was the state of half a checkpoint, which a training that went on made whole."""
    folder = entry.location.parent
    run = folder.parent.parent
    if not _STATE.fullmatch(entry.location.relative_to(run)):
        return False
    return has_record(folder) and not exists(run / MANIFEST_NAME)


def _folders(root: Location, settings: GcSettings) -> Iterator[Location]:
    """Old folders of checkpoints, and then what they lie in, if that is old as well.

    Of committed runs alone: in another one a training may be about to write there.
    """
    for run, manifest in list_manifests(root, "training-run"):
        if isinstance(manifest, Opened):
            with suppress(NotFound):
                for entry in (*checkpoint_folders(run), stat(checkpoints_folder(run))):
                    if entry.modified_ns <= _before(settings):
                        yield entry.location


def _before(settings: GcSettings) -> int:
    return time.time_ns() - int(settings.older_than_hours * 3600e9)
