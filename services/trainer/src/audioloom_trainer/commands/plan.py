"""`plan`: show the training that a recipe makes of shards, or what it takes; write nothing."""

import os

from audioloom_manifest.publication import find_committed
from audioloom_manifest.reader import read_manifest
from audioloom_runs.capacity import capacity_result
from audioloom_runs.cost import cost_facts
from audioloom_runs.tables import facts
from audioloom_stage.logs import bind
from audioloom_stage.result import JSON, Result

from audioloom_trainer.capacity import cost_of, lines_of
from audioloom_trainer.input.batches import steps_of
from audioloom_trainer.input.sampler import allowed_replicas
from audioloom_trainer.models.source import find_model
from audioloom_trainer.runs.checkpoint import list_checkpoints
from audioloom_trainer.runs.layout import read_launch
from audioloom_trainer.settings import PlanSettings
from audioloom_trainer.shards.shard_set import open_shards
from audioloom_trainer.training.spec import make_plan, window_of


def plan(settings: PlanSettings) -> Result:
    """Show what `run` would do, from the manifest of the shards."""
    model = find_model(settings.model)
    callbacks = find_model(settings.callbacks, "--callbacks") if settings.callbacks else None
    shards = read_manifest(settings.shards, expect="shards")
    planned = make_plan(settings, model, callbacks, shards, read_launch(os.environ).folder)
    bind(run=planned.name)
    shard_set, stats = open_shards(shards), shards.manifest.stats
    train = shard_set.split("train")
    if settings.capacity:
        recordings = sum(split.recordings for split in stats.splits.values())
        size = shards.manifest.files.bytes
        window = window_of(planned)
        lines = lines_of(shard_set, settings, window=window, recordings=recordings, list_bytes=size)
        return capacity_result(lines, {"name": planned.name, "location": str(planned.folder)})
    saved = [record.step for _, record in list_checkpoints(planned.folder) if record is not None]
    standing = find_committed(planned)
    steps = steps_of(train.layout.total, settings.batch_size)
    allowed = allowed_replicas(train.layout.lanes)
    data: dict[str, JSON] = {
        "name": planned.name,
        "location": str(planned.folder),
        "state": "committed" if standing else "started" if saved else "new",
        "model": model.label,
        "records": train.layout.total,
        "shards": len(train.shards),
        "steps_per_epoch": steps,
        "steps": steps * settings.epochs,
        "steps_done": steps * settings.epochs if standing else max(saved, default=0),
    }
    shown = {key: str(value) for key, value in data.items()}
    cores = settings.threads or os.cpu_count() or 1
    state = settings.parameters or 0
    cost = cost_of(planned, shard_set, settings, settings.replicas, cores, state)
    return Result(
        facts({**shown, "replicas": ", ".join(map(str, allowed)), **cost_facts(cost)}),
        {
            **data,
            "replicas": allowed,
            "cost": {name: each.to_json() for name, each in cost.items()},
        },
    )
