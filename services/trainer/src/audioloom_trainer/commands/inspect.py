"""`inspect`: show the facts and scores of a committed run, or the progress of another."""

import json
import shlex
from typing import Any

from audioloom_manifest.errors import MissingManifest
from audioloom_manifest.kinds import TrainingRunManifest
from audioloom_manifest.late_files import Patience
from audioloom_manifest.layout import MANIFEST_NAME
from audioloom_manifest.reader import Opened, read_manifest
from audioloom_runs.attempts import seconds_of
from audioloom_runs.cost import cost_facts
from audioloom_runs.progress import last_progress
from audioloom_runs.run_times import wall_time, wall_time_table
from audioloom_runs.scores import score_table, score_text
from audioloom_runs.tables import duration_text, facts, table
from audioloom_stage.errors import InputMissing
from audioloom_stage.result import Result
from audioloom_stage.terminal import counted
from audioloom_storage import Location, exists, locate

from audioloom_trainer.runs.checkpoint import list_checkpoints
from audioloom_trainer.runs.committed_run import evaluate_command, export_command, read_role
from audioloom_trainer.settings import InspectSettings


def inspect(settings: InspectSettings) -> Result:
    """Read a run's manifest, or its progress and checkpoints if it has no manifest."""
    try:
        return _committed(read_manifest(settings.run, expect="training-run"))
    except MissingManifest as error:
        folder = locate(settings.run)
        if folder.name == MANIFEST_NAME:
            folder = folder.parent
        progress = last_progress(folder)
        checkpoints = [(f.name, commit.step) for f, commit in list_checkpoints(folder)]
        if not progress and not checkpoints:
            launched = exists(folder / "attempts")
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


def _committed(opened: Opened[TrainingRunManifest]) -> Result:
    manifest = opened.manifest
    recipe, stats = manifest.recipe, manifest.stats
    read = opened.files("history", "evaluation")
    Patience().wait_for(opened.folder / entry.path for entry in read)
    history: list[dict[str, Any]] = json.loads(read_role(opened, "history"))["epochs"]
    splits_by = json.loads(read_role(opened, "evaluation")).get("splits_by", "")
    arguments = "".join(f" {key}={value}" for key, value in recipe.model.arguments.items())
    execution = manifest.execution
    what, wait = (execution.settings.get(name) for name in ("bottleneck", "input_wait"))
    limited = isinstance(wait, int | float)
    known = {
        "run": manifest.name,
        "identity": manifest.identity,
        "shards": f"{manifest.inputs[0].location} ({manifest.inputs[0].identity[:19]}…)",
        "splits": f"made by {splits_by}" if splits_by else "",
        "model": f"{recipe.model.function}{arguments}",
        "keras": "legacy: tf_keras" if recipe.keras == "legacy" else "",
        "parameters": f"{stats.parameters:,}",
        "steps": f"{stats.steps:,} of {recipe.batch_size} records,"
        f" {counted(recipe.epochs, 'epochs')}",
        "replicas": f"{stats.replicas}",
        "report": next((str(opened.folder / each.path) for each in opened.files("report")), ""),
        "took": f"{duration_text(seconds_of(execution))} on {execution.host}",
        "limited by": f"{what} (steps waited for input {wait:.1%} of the time)" if limited else "",
        **cost_facts(execution.cost),
    }
    parts = [
        facts({name: told for name, told in known.items() if told}),
        score_table(stats.scores),
        wall_time_table(execution.seconds) if execution.seconds else "",
        _history(history),
    ]
    return Result(
        text="\n\n".join(part for part in parts if part),
        data={
            "location": str(opened.location),
            "state": "committed",
            "manifest": manifest.to_json(),
            "history": history,
        },
        next=(evaluate_command(opened), export_command(opened)),
    )


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
