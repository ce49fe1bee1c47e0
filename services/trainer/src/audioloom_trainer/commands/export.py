"""`export`: copy the model of a committed run for use in other programs."""

import json
import shutil
import tempfile
from pathlib import Path, PurePosixPath
from typing import Any

import structlog
from audioloom_manifest.envelope import FileEntry
from audioloom_manifest.file_list import file_sha256, read_file
from audioloom_manifest.kinds import TrainingRunManifest
from audioloom_manifest.late_files import Patience
from audioloom_manifest.reader import Opened, read_manifest
from audioloom_stage.errors import NameTaken, Usage
from audioloom_stage.result import Result
from audioloom_storage import locate

from audioloom_trainer.errors import BadModel
from audioloom_trainer.runs.committed_run import read_trained_on
from audioloom_trainer.settings import ExportSettings

log = structlog.get_logger()


def export(settings: ExportSettings) -> Result:
    """Check and copy the model; write `labels.json`, which describes its inputs and outputs."""
    run = read_manifest(settings.run, expect="training-run")
    shards = read_trained_on(run).manifest
    entries = _entries(run, settings.format)
    name = run.manifest.name
    folder = _folder(settings.to)
    target = folder / (f"{name}.keras" if settings.format == "keras" else name)
    beside = folder / f"{name}.labels.json"
    standing = target.exists()
    _check_free(target, beside, run, entries)
    if not standing:
        Patience().wait_for(run.folder / entry.path for entry in entries)
    folder.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=f".{name}.", suffix=".part", dir=folder))
    try:  # files get their final names only when all are complete
        for entry in () if standing else entries:
            where = made / target.name / _inside(entry)
            where.parent.mkdir(parents=True, exist_ok=True)
            where.write_bytes(read_file(run.folder, entry))
        feature = {"name": shards.stats.feature.name, "shape": shards.stats.feature.shape}
        meaning: dict[str, Any] = {
            "run": run.manifest.identity,
            # In the order of the model's outputs; empty if the target is a number.
            "labels": list(shards.stats.labels) if shards.recipe.target == "label" else [],
            "feature": feature | {"dtype": "float32"},  # of the model: shards may hold float16
            "versions": run.manifest.execution.versions,
        }
        text = json.dumps(meaning, indent=2, ensure_ascii=False) + "\n"
        (made / beside.name).write_text(text, encoding="utf-8")
        (made / beside.name).replace(beside)
        if not standing:
            (made / target.name).rename(target)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    if standing:
        log.info("already exported", model=str(target))
    return Result(
        text=str(target),
        data={
            "model": str(target),
            "labels": str(beside),
            "format": settings.format,
            "already_exported": standing,
        },
    )


def _entries(run: Opened[TrainingRunManifest], form: str) -> list[FileEntry]:
    entries = list(run.files(form))
    if not entries:
        other = "saved-model" if form == "keras" else "keras"
        raise BadModel(
            where=run.location,
            expected=f"a model in the form {form}",
            found="none: Keras could not write it when the run was made, whose log says why",
            hint=f"Give the model's classes a get_config() and train again, or export with"
            f" --format {other}.",
        )
    return entries


def _inside(entry: FileEntry) -> str:
    """Return the file's path inside the SavedModel folder; empty for a single file."""
    return "/".join(PurePosixPath(entry.path).parts[2:])


def _folder(text: str) -> Path:
    where = locate(text)
    if where.scheme != "file":
        raise Usage(
            where="--to",
            expected="a folder on this machine",
            found=where,
            hint="Export to a folder here, and copy it there.",
        )
    return Path(where.path)


def _check_free(
    target: Path, beside: Path, run: Opened[TrainingRunManifest], entries: list[FileEntry]
) -> None:
    """Refuse to overwrite any file except the labels of this run; an equal model may stay."""
    wanted = {target / _inside(entry): entry.sha256 for entry in entries}
    found = {path for path in (target, *target.rglob("*")) if not path.is_dir()}
    taken = target.exists() and (
        wanted.keys() != found or any(file_sha256(locate(p)) != wanted[p] for p in found)
    )
    if not taken and beside.exists():
        text = beside.read_text(encoding="utf-8", errors="replace")
        taken, target = run.manifest.identity not in text, beside
    if taken:
        raise NameTaken(
            where=target,
            expected="nothing of that name",
            found="something else",
            hint="Nothing is overwritten: remove it, or give another --to.",
        )
