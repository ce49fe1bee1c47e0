"""`export`: the model of a committed run, for use elsewhere."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from audioloom_manifest import Opened, ShardsManifest
from audioloom_stage import NameTaken, Result, Usage
from audioloom_storage import locate

from audioloom_trainer.errors import BadModel, told
from audioloom_trainer.finished import FinishedRun, open_run, read_trained_on
from audioloom_trainer.settings import ExportSettings
from audioloom_trainer.shards import open_shards

__all__ = ["export"]


def export(settings: ExportSettings) -> Result:
    """Write the model, and beside it `labels.json`: what its outputs and inputs mean."""
    run = open_run(settings.run, settings.model)
    shards = read_trained_on(run.opened)
    shard_set = open_shards(shards)
    name = run.opened.manifest.name
    folder = _folder(settings.to)
    target = folder / (f"{name}.keras" if settings.format == "keras" else name)
    beside = folder / f"{name}.labels.json"
    _check_free(target, beside, run)

    from audioloom_trainer.strategy import set_up_tensorflow, versions  # noqa: PLC0415

    set_up_tensorflow(threads=0, deterministic=False, seed=run.opened.manifest.recipe.seed)
    from audioloom_trainer.rebuild import rebuild  # noqa: PLC0415

    model = rebuild(run, shard_set)
    folder.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=f".{name}.", suffix=".part", dir=folder))
    try:  # under their names only when they are whole
        _write(model, made / target.name, settings.format, run, shards)
        meaning = _meaning(run, shards) | {"versions": versions()}
        text = json.dumps(meaning, indent=2, ensure_ascii=False) + "\n"
        (made / beside.name).write_text(text, encoding="utf-8")
        (made / beside.name).replace(beside)
        (made / target.name).rename(target)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return Result(
        text=str(target),
        data={"model": str(target), "labels": str(beside), "format": settings.format},
    )


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


def _check_free(target: Path, beside: Path, run: FinishedRun) -> None:
    """Refuse to write over anything, but for the labels of the same run in another format."""
    taken, identity = target.exists(), run.opened.manifest.identity
    if not taken and beside.exists():
        taken, target = identity not in beside.read_text(encoding="utf-8", errors="replace"), beside
    if taken:
        raise NameTaken(
            where=target,
            expected="nothing of that name",
            found="an earlier export",
            hint="Nothing is overwritten: remove it, or give another --to.",
        )


def _write(
    model: Any, target: Path, form: str, run: FinishedRun, shards: Opened[ShardsManifest]
) -> None:
    from audioloom_trainer.serving import write_saved_model  # noqa: PLC0415

    try:
        if form == "keras":
            model.save(target)
        else:
            feature, labels = shards.manifest.stats.feature, _labels(shards)
            write_saved_model(
                model, target, feature=feature.name, shape=feature.shape, labels=labels
            )
    except (NotImplementedError, TypeError, ValueError) as error:
        other = "saved-model" if form == "keras" else "keras"
        raise BadModel(
            where=run.source.place,
            expected=f"a model that Keras can write as {form}",
            found=told(error),
            hint=f"Give its classes a get_config(), or export with --format {other}.",
        ) from error


def _meaning(run: FinishedRun, shards: Opened[ShardsManifest]) -> dict[str, Any]:
    stats = shards.manifest.stats
    feature = {"name": stats.feature.name, "shape": stats.feature.shape}
    return {
        "run": run.opened.manifest.identity,
        "labels": _labels(shards),
        "feature": feature | {"dtype": "float32"},  # the model's: shards may hold float16
    }


def _labels(shards: Opened[ShardsManifest]) -> list[str]:
    """In the order of the model's outputs; none where a number is learned."""
    by_label = shards.manifest.recipe.target == "label"
    return list(shards.manifest.stats.labels) if by_label else []
