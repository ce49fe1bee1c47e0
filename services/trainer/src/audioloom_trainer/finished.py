"""A committed run as it is used afterwards: its files, checked, and its model, built again."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from audioloom_manifest import (
    Opened,
    ShardsManifest,
    TrainingRunManifest,
    WrongChecksum,
    read_manifest,
    resolve_input,
)
from audioloom_storage import read_bytes

from audioloom_trainer.errors import BadModel, DamagedRun
from audioloom_trainer.model_source import ModelSource, find_model

__all__ = ["FinishedRun", "open_run", "read_role", "read_trained_on", "source_of"]


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
        raise BadModel(
            where=opened.location,
            expected=f"--model PATH/{wanted.function}, as the run was given",
            found="no --model",
            hint="A run keeps the name and the digest of such a file, not the file.",
        )
    source = find_model(model or wanted.function)
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
        WrongChecksum: it is not what the manifest says.
    """
    entries = opened.files(role)
    if len(entries) != 1:
        raise DamagedRun(
            where=opened.location, expected=f"one {role} file", found=f"{len(entries)}"
        )
    where = opened.folder / entries[0].path
    data = read_bytes(where, limit=entries[0].bytes + 1)
    found = hashlib.sha256(data).hexdigest()
    if found != entries[0].sha256:
        raise WrongChecksum(
            where=where,
            expected=f"SHA-256 {entries[0].sha256}",
            found=found,
            hint="The file was changed after the commit: delete the run and train it again.",
        )
    return data


def read_json(opened: Opened[TrainingRunManifest], role: str) -> Any:
    """The JSON of the run's file of a role; raises as `read_role`."""
    return json.loads(read_role(opened, role))


def read_trained_on(opened: Opened[TrainingRunManifest]) -> Opened[ShardsManifest]:
    """The shards that a run was trained on, where its manifest says they are."""
    return read_manifest(resolve_input(opened.manifest.inputs[0], opened.root), expect="shards")
