"""`verify`: read again all that a manifest claims, and trust none of it."""

from __future__ import annotations

from typing import Any

from audioloom_manifest import (
    FileEntry,
    Opened,
    RecordingsManifest,
    check_files,
    run_identity,
)
from audioloom_stage import Result, bind, progress

from audioloom_featurizer.errors import BadInventory, BadUnits, Damaged
from audioloom_featurizer.inspection import open_ours
from audioloom_featurizer.settings import VerifySettings
from audioloom_featurizer.verify_features import check_features
from audioloom_featurizer.verify_recordings import check_inventory

MOST_SHOWN = 20


def verify(settings: VerifySettings) -> Result:
    """Check files first, then what they hold.

    Raises:
        Damaged: with the first problems; nothing was changed.
    """
    opened = open_ours(settings.manifest)
    bind(run=opened.manifest.name)
    entries = opened.files()
    problems = _identity(opened, entries)
    with progress(len(entries), "checking", "files") as bar:
        for entry in bar.over(entries):
            problems += [str(problem.error) for problem in check_files(opened.folder, [entry])]
    _stop_at(problems, opened)  # what damaged files hold says nothing
    try:
        if isinstance(opened.manifest, RecordingsManifest):
            problems += check_inventory(opened)
        else:
            problems += check_features(opened)
    except (BadInventory, BadUnits) as error:
        problems.append(str(error))
    _stop_at(problems, opened)
    where = str(opened.location)
    size = sum(entry.bytes for entry in entries)
    return Result(
        f"{where}: {len(entries)} files, {size} bytes, all as the manifest says",
        {"location": where, "files": len(entries), "bytes": size, "problems": []},
    )


def _identity(opened: Opened[Any], entries: list[FileEntry]) -> list[str]:
    manifest = opened.manifest
    inputs = [reference.identity for reference in manifest.inputs]
    found = run_identity(manifest.kind, manifest.recipe, inputs, entries)
    if found == manifest.identity:
        return []
    return [f"{opened.location}: its identity is not that of its recipe, inputs and files"]


def _stop_at(problems: list[str], opened: Opened[Any]) -> None:
    if not problems:
        return
    shown = problems[:MOST_SHOWN]
    if len(problems) > MOST_SHOWN:
        shown.append(f"and {len(problems) - MOST_SHOWN} more")
    raise Damaged(
        "the run is not what its manifest says",
        where=opened.location,
        found="\n".join(shown),
        hint="Restore the files from a copy, or move the folder away and run its stage again.",
    )
