"""`list`: the training runs under a root."""

from __future__ import annotations

from typing import Any

from audioloom_manifest import (
    ManifestError,
    Opened,
    TrainingRunManifest,
    list_manifests,
)
from audioloom_stage import JSON, InputMissing, Result
from audioloom_storage import exists, locate

from audioloom_trainer.reporting.tables import table
from audioloom_trainer.runs.checkpoint import list_checkpoints
from audioloom_trainer.settings import ListSettings


def list_runs(settings: ListSettings) -> Result:
    """One line a run; what cannot be read, or was not finished, says so."""
    root = locate(settings.root)
    if not exists(root):
        raise InputMissing(expected="a root folder", found="nothing", where=root)
    rows: list[tuple[str, ...]] = []
    data: list[JSON] = []
    for folder, found in list_manifests(root, "training-run"):
        if isinstance(found, Opened) and isinstance(found.manifest, TrainingRunManifest):
            rows.append(_row(found.manifest))
            scores = {name: dict(each) for name, each in found.manifest.stats.scores.items()}
            data.append({"name": folder.name, "state": "committed", "scores": scores})
            continue
        steps = [commit.step for _, commit in list_checkpoints(folder) if commit is not None]
        state = _state(found)
        rows.append((folder.name, state, f"{steps[0]:,}" if steps else "0"))
        data.append({"name": folder.name, "state": state, "checkpoints": steps})
    head = ("name", "state", "steps", "replicas", "model", "shards", "scores")
    text = table(head, rows) if rows else f"no training runs under {root}"
    return Result(text=text, data={"root": root.uri, "runs": data})


def _state(found: Opened[Any] | ManifestError | None) -> str:
    if isinstance(found, ManifestError):
        return f"unreadable: expected {found.expected}, found {found.found}"
    return "unfinished" if found is None else f"a {found.manifest.kind} manifest"


def _row(manifest: TrainingRunManifest) -> tuple[str, ...]:
    stats = manifest.stats
    scores = " ".join(
        f"{name}:{found['accuracy']:.3f}" if "accuracy" in found else f"{name}:{found['loss']:.3g}"
        for name, found in sorted(stats.scores.items())
        if "accuracy" in found or "loss" in found
    )
    return (
        manifest.name,
        "committed",
        f"{stats.steps:,}",
        f"{stats.replicas}",
        manifest.recipe.model.function,
        manifest.inputs[0].name,
        scores,
    )
