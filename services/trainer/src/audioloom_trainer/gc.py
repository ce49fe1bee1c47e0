"""`gc`: what lies in runs/ and nothing needs any more."""

from __future__ import annotations

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
    locate,
    remove,
    remove_tree,
    walk,
)

from audioloom_trainer.checkpoint import list_checkpoints
from audioloom_trainer.run_folder import checkpoints_folder
from audioloom_trainer.settings import GcSettings

__all__ = ["gc"]

# Who trained, how far they came and what they said: a run's story, which its launcher owns.
_STORY = ("attempts", "progress", "logs")


def gc(settings: GcSettings) -> Result:
    """Find, and with --delete remove: files of no manifest, and checkpoints that are not needed.

    A committed run needs no checkpoint. Of an unfinished one the whole checkpoints stay.
    """
    root = locate(settings.root)
    if not exists(root):
        raise InputMissing(expected="a root folder", found="nothing", where=root)
    seconds = settings.older_than_hours * 3600
    found = list(dict.fromkeys(_found(root, seconds)))
    if settings.delete:
        for entry in found:
            with suppress(NotFound):
                remove(entry.location)
        _remove_empty_checkpoints(root)
    size = sum(entry.size for entry in found)
    what = "removed" if settings.delete else "to remove with --delete"
    lines = [str(entry.location) for entry in found]
    return Result(
        text=[*lines, f"{len(found)} files, {size:,} bytes {what}"],
        data={
            "files": [entry.location.uri for entry in found],
            "bytes": size,
            "deleted": settings.delete,
        },
    )


def _found(root: Location, seconds: float) -> Iterator[Entry]:
    for entry in garbage(root, "training-run", older_than=seconds):
        parts = entry.location.relative_to(root).split("/")
        if len(parts) > 2 and parts[2] in _STORY and not entry.location.name.endswith(".part"):  # noqa: PLR2004
            continue
        yield entry
    before = time.time_ns() - int(seconds * 1e9)
    for folder, manifest in list_manifests(root, "training-run"):
        if isinstance(manifest, Opened):
            continue  # its checkpoints are named by nothing, so they were found above
        for checkpoint, commit in list_checkpoints(folder):
            if commit is None:
                yield from (entry for entry in walk(checkpoint) if entry.modified_ns <= before)


def _remove_empty_checkpoints(root: Location) -> None:
    for folder, _ in list_manifests(root, "training-run"):
        for checkpoint, _ in list_checkpoints(folder):
            if not any(walk(checkpoint)):
                remove_tree(checkpoint)
        with suppress(NotFound):
            if not any(walk(checkpoints_folder(folder))):
                remove_tree(checkpoints_folder(folder))
