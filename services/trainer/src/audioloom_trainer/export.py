"""`export`: the model of a committed run, for use elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

from audioloom_stage import NameTaken, Result

from audioloom_trainer.finished import open_run, read_trained_on
from audioloom_trainer.settings import ExportSettings
from audioloom_trainer.shards import open_shards

__all__ = ["export"]


def export(settings: ExportSettings) -> Result:
    """Write the model, and beside it `labels.json`: what its outputs and inputs mean."""
    run = open_run(settings.run, settings.model)
    shards = read_trained_on(run.opened)
    shard_set = open_shards(shards)
    name = run.opened.manifest.name
    folder = Path(settings.to).expanduser().absolute()
    target = folder / (f"{name}.keras" if settings.format == "keras" else name)
    if target.exists():
        raise NameTaken(
            where=target,
            expected="nothing of that name",
            found="an earlier export",
            hint="Nothing is overwritten: remove it, or give another --to.",
        )

    from audioloom_trainer.strategy import set_up_tensorflow, versions  # noqa: PLC0415

    recipe = run.opened.manifest.recipe
    set_up_tensorflow(threads=0, deterministic=False, seed=recipe.seed)
    from audioloom_trainer.rebuild import rebuild  # noqa: PLC0415

    model = rebuild(run, shard_set)
    folder.mkdir(parents=True, exist_ok=True)
    if settings.format == "keras":
        model.save(target)
    else:
        model.export(target, verbose=False)
    feature = shards.manifest.stats.feature
    meaning = {
        "run": run.opened.manifest.identity,
        "labels": list(shard_set.labels),
        "feature": {"name": feature.name, "shape": list(feature.shape), "dtype": feature.dtype},
        "versions": versions(),
    }
    beside = folder / f"{name}.labels.json"
    beside.write_text(json.dumps(meaning, indent=2, ensure_ascii=False) + "\n")
    return Result(
        text=str(target),
        data={"model": str(target), "labels": str(beside), "format": settings.format},
    )
