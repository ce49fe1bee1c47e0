"""A committed run as it is used afterwards: its files, checked, and its model, built again."""

from __future__ import annotations

import hashlib
import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from audioloom_manifest import (
    FileEntry,
    MissingFile,
    Opened,
    ShardsManifest,
    TrainingRunManifest,
    WrongChecksum,
    read_manifest,
    resolve_input,
)
from audioloom_stage import BadData
from audioloom_storage import NotFound, TooLarge, read_bytes

from audioloom_trainer.errors import BadModel, DamagedRun
from audioloom_trainer.model_source import ModelSource, find_model

__all__ = [
    "FinishedRun",
    "evaluate_command",
    "export_command",
    "open_run",
    "read_entry",
    "read_json",
    "read_role",
    "read_trained_on",
    "source_of",
]


@dataclass(frozen=True)
class FinishedRun:
    """A committed run, and the function that made its model."""

    opened: Opened[TrainingRunManifest]
    source: ModelSource


def open_run(place: str, model: str | None) -> FinishedRun:
    """Read a committed run and find its model function.

    Args:
        place: the run's folder or manifest.
        model: where the function lies, when the manifest's word is not enough.

    Raises:
        ManifestError: there is none, or it is damaged.
        BadModel: the function's file is not there, or not the one that was trained.
    """
    opened = read_manifest(place, expect="training-run")
    return FinishedRun(opened, source_of(opened, model))


def source_of(opened: Opened[TrainingRunManifest], model: str | None) -> ModelSource:
    """The function that made a run's model, whose file must be the one that was trained."""
    wanted = opened.manifest.recipe.model
    file = wanted.function.rpartition(":")[0]
    if model is None and file.endswith(".py"):
        given = opened.manifest.execution.settings.get("model", wanted.function)
        raise BadModel(
            where=opened.location,
            expected=f"--model PATH/{wanted.function}, as the run was given",
            found="no --model",
            hint=f"A run keeps the digest of such a file, not the file. It was {given}",
        )
    source = find_model(model or wanted.function)
    if source.function != wanted.function.rpartition(":")[2]:
        raise BadModel(
            where="--model",
            expected=f"the function that was trained, {wanted.function}",
            found=source.function,
        )
    if source.sha256 != wanted.sha256:
        raise BadModel(
            where=source.path,
            expected=f"the file that was trained, SHA-256 {wanted.sha256}",
            found=source.sha256,
            hint="Take the file, or the release of the package, that the run was trained with.",
        )
    return source


def read_role(opened: Opened[TrainingRunManifest], role: str) -> bytes:
    """The content of the run's file of a role, checked.

    Raises:
        DamagedRun: the run has no such file, or several.
        MissingFile, WrongChecksum: as `read_entry`.
    """
    entries = opened.files(role)
    if len(entries) != 1:
        raise DamagedRun(
            where=opened.location, expected=f"one {role} file", found=f"{len(entries)}"
        )
    return read_entry(opened, entries[0])


def read_entry(opened: Opened[TrainingRunManifest], entry: FileEntry) -> bytes:
    """The content of one file of the run, checked.

    Raises:
        MissingFile: it is gone.
        WrongChecksum: it is not what the manifest says.
    """
    where = opened.folder / entry.path
    hint = "It was changed after the commit: copy it again, or delete the run and train it again."
    try:
        data = read_bytes(where, limit=entry.bytes)
    except NotFound as error:
        raise MissingFile(
            where=where, expected=f"the {entry.role} of the run", found="nothing", hint=hint
        ) from error
    except TooLarge as error:
        raise WrongChecksum(
            where=where, expected=f"{entry.bytes} bytes", found="more", hint=hint
        ) from error
    found = hashlib.sha256(data).hexdigest()
    if found != entry.sha256:
        raise WrongChecksum(where=where, expected=f"SHA-256 {entry.sha256}", found=found, hint=hint)
    return data


def read_json(opened: Opened[TrainingRunManifest], role: str) -> Any:
    """The JSON of the run's file of a role; raises as `read_role`."""
    return json.loads(read_role(opened, role))


def read_trained_on(opened: Opened[TrainingRunManifest]) -> Opened[ShardsManifest]:
    """The shards that a run was trained on, where its manifest says they are.

    Raises:
        BadData: other shards are there by now; their splits may hold what was trained on.
    """
    reference = opened.manifest.inputs[0]
    found = read_manifest(resolve_input(reference, opened.root), expect="shards")
    if found.manifest.identity != reference.identity:
        raise BadData(
            where=found.location,
            expected=f"the shards that {opened.manifest.name} was trained on, {reference.identity}",
            found=found.manifest.identity,
            hint="Run the sharder as it was run then: the same command makes the same shards.",
        )
    return found


def export_command(opened: Opened[TrainingRunManifest]) -> str:
    """A command that copies the model of a run, ready to be pasted."""
    return shlex.join(["audioloom-trainer", "export", str(opened.folder), "--to", "."])


def evaluate_command(opened: Opened[TrainingRunManifest]) -> str:
    """A command that scores a run, ready to be pasted; with its model, where that is a file."""
    function = opened.manifest.recipe.model.function
    given = str(opened.manifest.execution.settings.get("model", function))
    here = given if Path(given.rpartition(":")[0]).exists() else function  # that was on a node
    model = ["--model", here] if function.rpartition(":")[0].endswith(".py") else []
    return shlex.join(["audioloom-trainer", "evaluate", str(opened.folder), *model])
