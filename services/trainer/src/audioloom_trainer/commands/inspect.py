"""`inspect`: show the facts and scores of a committed run, or the progress of another."""

import json
import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from audioloom_manifest.errors import MissingManifest
from audioloom_manifest.kinds import TrainingRunManifest
from audioloom_manifest.layout import MANIFEST_NAME
from audioloom_manifest.reader import Opened, read_manifest
from audioloom_runs.attempts import seconds_of
from audioloom_runs.cost import cost_facts
from audioloom_runs.progress import last_progress
from audioloom_runs.run_times import wall_time, wall_time_table
from audioloom_runs.scores import score_table, score_text
from audioloom_runs.tables import facts, table
from audioloom_stage.errors import InputMissing
from audioloom_stage.result import Result
from audioloom_storage import Location, NotAFolder, NotFound, list_folder, locate

from audioloom_trainer.runs.checkpoint import list_checkpoints
from audioloom_trainer.runs.committed_run import (
    await_entries,
    evaluate_command,
    export_command,
    read_role,
)
from audioloom_trainer.settings import InspectSettings


def inspect(settings: InspectSettings) -> Result:
    """Read a run's manifest, or its progress and checkpoints if it has no manifest."""
    try:
        opened = read_manifest(settings.run, expect="training-run")
    except MissingManifest as error:
        folder = locate(settings.run)
        if folder.name == MANIFEST_NAME:
            folder = folder.parent
        progress = last_progress(folder)
        checkpoints = [(f.name, c.step) for f, c in list_checkpoints(folder) if c is not None]
        if not progress and not checkpoints:
            launched = any(_files(folder / "attempts"))
            raise InputMissing(
                where=folder,
                expected="a training run: a manifest, progress or checkpoints",
                found="attempts alone: no trainer came as far as training"
                if launched
                else "none of them",
                hint=shlex.join(["audioloom-yarn-launcher", "status", str(folder)])
                if launched
                else "audioloom-trainer list --root ROOT shows the runs that there are.",
            ) from error
        return _unfinished(folder, progress, checkpoints)
    return _committed(opened)


def _committed(opened: Opened[TrainingRunManifest]) -> Result:
    manifest = opened.manifest
    recipe, stats = manifest.recipe, manifest.stats
    await_entries(opened, opened.files("history", "evaluation"))
    history: list[dict[str, Any]] = json.loads(read_role(opened, "history"))["epochs"]
    splits_by = json.loads(read_role(opened, "evaluation")).get("splits_by", "")
    arguments = "".join(f" {key}={value}" for key, value in recipe.model.arguments.items())
    execution = manifest.execution
    seconds = seconds_of(execution)
    known = [
        ("run", manifest.name),
        ("identity", manifest.identity),
        ("shards", f"{manifest.inputs[0].location} ({manifest.inputs[0].identity[:19]}…)"),
        *((("splits", f"made by {splits_by}"),) if splits_by else ()),
        ("model", f"{recipe.model.function}{arguments}"),
        *((("keras", "legacy: tf_keras"),) if recipe.keras == "legacy" else ()),
        ("parameters", f"{stats.parameters:,}"),
        ("steps", f"{stats.steps:,} of {recipe.batch_size} records, {recipe.epochs} epochs"),
        ("replicas", f"{stats.replicas}"),
        *(("report", str(opened.folder / entry.path)) for entry in opened.files("report")),
        ("took", f"{seconds:.0f} s on {execution.host}"),
        *_held_up(execution.settings),
        *cost_facts(execution.cost).items(),
    ]
    scores = {name: dict(found) for name, found in stats.scores.items()}
    parts = [facts(dict(known)), score_table(scores)]
    if execution.seconds:
        parts.append(wall_time_table(execution.seconds))
    parts.append(_history(history))
    return Result(
        text="\n\n".join(parts),
        data={
            "location": str(opened.location),
            "state": "committed",
            "manifest": manifest.to_json(),
            "history": history,
        },
        next=(evaluate_command(opened), export_command(opened)),
    )


def _held_up(settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    what, wait = settings.get("bottleneck"), settings.get("input_wait")
    if isinstance(wait, int | float):
        yield "limited by", f"{what} (steps waited for input {wait:.1%} of the time)"


def _history(history: list[dict[str, Any]]) -> str:
    names = list(dict.fromkeys(("epoch", "loss", *(name for each in history for name in each))))
    rows = [
        tuple(_shown(name, entry[name]) if name in entry else "" for name in names)
        for entry in history
    ]
    return table(names, rows)


def _shown(name: str, value: float) -> str:
    return f"{value:g}" if name == "epoch" else score_text(value)


def _unfinished(
    folder: Location, progress: dict[str, dict[str, Any]], checkpoints: list[tuple[str, int]]
) -> Result:
    fields = ("event", "step", "attempt", "time", "text")
    rows = [
        (rank, *(str(line.get(name, ""))[:200] for name in fields))
        for rank, line in sorted(progress.items(), key=lambda item: int(item[0]))
    ]
    saved = ", ".join(name for name, _ in checkpoints) or "none"
    text = f"{folder}: not committed\ncheckpoints: {saved}\n\n" + table(
        ("worker", "last event", "step", "attempt", "time", ""), rows
    )
    if seconds := wall_time(folder):
        text += "\n\n" + wall_time_table(seconds)
    return Result(
        text=text,
        data={
            "state": "unfinished",
            "location": str(folder),
            "checkpoints": [step for _, step in checkpoints],
            "workers": progress,
            "seconds": {**seconds},
        },
    )


def _files(folder: Location) -> Iterator[Location]:
    with suppress(NotFound, NotAFolder):
        for entry in list_folder(folder):
            if not entry.is_folder:
                yield entry.location
