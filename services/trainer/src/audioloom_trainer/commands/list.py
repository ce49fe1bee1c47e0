"""`list`: show the training runs under a root, committed or not."""

from typing import Any

from audioloom_manifest.reader import Opened
from audioloom_runs import run_list
from audioloom_runs.progress import training_state
from audioloom_runs.run_times import seconds_in
from audioloom_runs.settings import ListSettings
from audioloom_stage.result import Result
from audioloom_storage import Location

from audioloom_trainer.runs.checkpoint import list_checkpoints


def list_runs(settings: ListSettings) -> Result:
    """List training runs with their steps, model and scores."""
    return run_list.list_runs(
        settings,
        ("training-run",),
        columns=("steps", "replicas", "model", "shards", "scores"),
        committed=_committed,
        uncommitted=_uncommitted,
    )


def _committed(opened: Opened[Any]) -> dict[str, Any]:
    manifest = opened.manifest
    stats = manifest.stats
    return {
        "steps": stats.steps,
        "replicas": stats.replicas,
        "model": manifest.recipe.model.function,
        "shards": manifest.inputs[0].name,
        "scores": {name: _score(found) for name, found in sorted(stats.scores.items())},
    }


def _score(found: dict[str, float]) -> float | None:
    """Return the score to list: the accuracy, or the loss if the target is a number."""
    score = found.get("accuracy", found.get("loss"))
    return None if score is None else round(score, 3)


def _uncommitted(folder: Location) -> dict[str, Any]:
    """Return the state of a run, from its checkpoints and what its processes noted."""
    steps = [commit.step for _, commit in list_checkpoints(folder)]
    more = {"steps": steps[0] if steps else 0, "checkpoints": steps}
    return {**more, "seconds": seconds_in(folder), **training_state(folder)}
