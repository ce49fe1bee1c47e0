"""Read a committed run: its checked files and the source of its model."""

import os
import shlex
from dataclasses import dataclass
from typing import Any

from audioloom_manifest.architecture import BadArchitecture, ForeignPart, read_architecture
from audioloom_manifest.errors import ManifestError
from audioloom_manifest.file_list import read_file
from audioloom_manifest.kinds import ModelRef, ShardsManifest, TrainingRunManifest
from audioloom_manifest.late_files import Patience
from audioloom_manifest.reader import Opened, read_manifest, resolve_input
from audioloom_stage.errors import BadData
from audioloom_storage import StorageError

from audioloom_trainer.errors import BadModel, DamagedRun
from audioloom_trainer.models.source import ModelSource, find_builtin, find_model


@dataclass(frozen=True)
class CommittedRun:
    """A committed run and the source of its model: a function or the run's architecture."""

    opened: Opened[TrainingRunManifest]
    source: ModelSource | None
    architecture: dict[str, Any]


def open_run(place: str, model: str | None) -> CommittedRun:
    """Read a committed run and find the source of its model: the function *model*, if given.

    A name in a manifest is never imported, unless it is built in.

    Raises:
        ManifestError: the manifest is missing or damaged, or its files are gone.
        BadModel: the function is missing or is not the trained one; or none is given and the
            run's architecture has parts outside Keras.
        DamagedRun: the architecture's file holds no architecture.
    """
    opened = read_manifest(place, expect="training-run")
    source = _builtin_of(opened) if model is None else _source_of(opened, model)
    if source is not None:
        return CommittedRun(opened, source, {})
    needed = opened.files("weights", "model")
    Patience().wait_for(opened.folder / entry.path for entry in needed)
    return CommittedRun(opened, None, _architecture_of(opened))


def _builtin_of(opened: Opened[TrainingRunManifest]) -> ModelSource | None:
    named = opened.manifest.recipe.model
    return find_builtin(named.function, named.revision)


def _source_of(opened: Opened[TrainingRunManifest], model: str) -> ModelSource:
    """Find the function that made a run's model: the file or built-in revision must be equal."""
    wanted = opened.manifest.recipe.model
    source = find_model(model)
    if source.function != wanted.function.rpartition(":")[2]:
        raise BadModel(
            where="--model",
            expected=f"the function that was trained, {wanted.function}",
            found=source.function,
        )
    if (source.sha256, source.revision) != (wanted.sha256, wanted.revision):
        raise BadModel(
            where=source.path,
            expected=f"the function that was trained, {_identified(wanted)}",
            found=_identified(source),
            hint="Take the file, or the release of the package, that the run was trained with.",
        )
    return source


def _identified(model: ModelRef | ModelSource) -> str:
    if model.revision is not None:
        return f"built in, revision {model.revision}"
    return f"SHA-256 of its file {model.sha256}"


def _architecture_of(opened: Opened[TrainingRunManifest]) -> dict[str, Any]:
    try:
        return read_architecture(read_role(opened, "model"))
    except BadArchitecture as error:
        raise DamagedRun(
            where=opened.location, expected="an architecture as Keras writes it", found=str(error)
        ) from None
    except ForeignPart as error:
        raise cannot_rebuild(opened, str(error)) from None


def kept_source(opened: Opened[TrainingRunManifest]) -> str:
    """Return where the run keeps the file of its function, as `FILE.py:FUNCTION`; "" without it."""
    model = opened.manifest.recipe.model
    file, _, function = model.function.rpartition(":")
    path = f"source/{str(model.sha256)[:12]}/{file}"
    kept = any(entry.path == path for entry in opened.files("source"))
    return f"{opened.folder / path}:{function}" if kept else ""


def cannot_rebuild(opened: Opened[TrainingRunManifest], found: str) -> BadModel:
    """Make the error for a run whose model only its function can build."""
    manifest = opened.manifest
    named = manifest.recipe.model.function
    kept = kept_source(opened)
    return BadModel(
        where=opened.location,
        expected="a model that is built of Keras's own classes, or --model",
        found=found,
        hint=f"Give --model again: the run was made with {named}, which a manifest may name and"
        " nobody imports for it. It was given as"
        f" {manifest.execution.settings.get('model', named)}"
        + (f", and the run keeps it: {kept}" if kept else ""),
    )


def read_role(opened: Opened[TrainingRunManifest], role: str) -> bytes:
    """Read and check the run's file of a role.

    Raises:
        DamagedRun: the run has no file or several files of this role.
        MissingFile, WrongChecksum: the file is missing, or differs from the manifest.
    """
    entries = opened.files(role)
    if len(entries) != 1:
        raise DamagedRun(
            where=opened.location, expected=f"one {role} file", found=f"{len(entries)}"
        )
    return read_file(opened.folder, entries[0])


def read_trained_on(opened: Opened[TrainingRunManifest]) -> Opened[ShardsManifest]:
    """Read the shards manifest of a run's training, at the location in the run's manifest.

    Raises:
        BadData: other shards lie there now; their other splits may hold records of the training.
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
    """Return a command to paste that exports the model of a run."""
    return shlex.join(["audioloom-trainer", "export", str(opened.folder), "--to", "."])


def evaluate_command(opened: Opened[TrainingRunManifest]) -> str:
    """Return a command to paste that scores a run, with `--model` only if the run needs it."""
    function = opened.manifest.recipe.model.function
    given = str(opened.manifest.execution.settings.get("model", function))
    here = given
    if not os.path.exists(given.rpartition(":")[0]):  # noqa: PTH110 - Path raises on a closed folder
        here = (opened.folder.scheme == "file" and kept_source(opened)) or function
    model = ["--model", here] if _needs_model(opened) else []
    return shlex.join(["audioloom-trainer", "evaluate", str(opened.folder), *model])


def _needs_model(opened: Opened[TrainingRunManifest]) -> bool:
    if _builtin_of(opened) is not None:
        return False
    try:
        _architecture_of(opened)
    except (BadModel, DamagedRun, ManifestError, StorageError):
        return True
    return False
