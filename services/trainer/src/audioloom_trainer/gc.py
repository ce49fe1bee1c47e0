"""`gc`: what lies in runs/ and nothing needs any more."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Iterator
from contextlib import suppress

from audioloom_manifest import Opened, garbage, list_manifests
from audioloom_stage import InputMissing, Result
from audioloom_storage import (
    Entry,
    Location,
    NotFound,
    exists,
    is_temporary,
    locate,
    remove,
    remove_tree,
    walk,
)

from audioloom_trainer.checkpoint import list_checkpoints
from audioloom_trainer.run_folder import checkpoints_folder
from audioloom_trainer.settings import GcSettings

__all__ = ["gc"]

# What the trainer writes below a run, but for its progress, which tells the run's story.
_OURS = re.compile(
    r"files-[0-9a-f]{12}\.jsonl"
    r"|report-[0-9a-f]{12}\.html"
    r"|logs/tensorboard/(train|val)/events\.out\.tfevents\.[0-9]{10}\.[0-9]{6}\.[0-9a-f]{8}"
    r"|model/(weights|model|history|evaluation|keras)-[0-9a-f]{12}\.(npz|json|keras)"
    r"|model/saved-model-[0-9a-f]{12}/.+"
    r"|checkpoints/step-[0-9]{8,}/(commit\.json|state-[0-9a-f]{12}\.npz)"
)


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
        found = list(_remove(found))
        _remove_empty_folders(root)
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


def _found(root: Location, settings: GcSettings) -> Iterator[Entry]:
    seconds = settings.older_than_hours * 3600
    for entry in garbage(root, "training-run", older_than=seconds):
        inside = entry.location.relative_to(root).split("/", 2)[2]
        if is_temporary(entry.location.name) or _OURS.fullmatch(inside):
            yield entry
    before = time.time_ns() - int(seconds * 1e9)
    for folder, manifest in list_manifests(root, "training-run"):
        if manifest is not None:
            continue  # committed: its checkpoints were found above; unreadable: nothing is known
        for checkpoint, commit in list_checkpoints(folder):
            for entry in walk(checkpoint) if commit is None else ():
                inside = entry.location.relative_to(folder)
                if entry.modified_ns <= before and _OURS.fullmatch(inside):
                    yield entry


def _remove(found: list[Entry]) -> Iterator[Entry]:
    for entry in found:
        with suppress(NotFound):  # another gc was quicker
            remove(entry.location)
            yield entry


def _remove_empty_folders(root: Location) -> None:
    """Of committed runs alone: in another one a training may be about to write there."""
    for folder, manifest in list_manifests(root, "training-run"):
        where = checkpoints_folder(folder)
        if isinstance(manifest, Opened) and exists(where) and not any(walk(where)):
            remove_tree(where)
