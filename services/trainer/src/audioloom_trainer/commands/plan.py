"""`plan`: show the training that a recipe makes of shards, or what it takes; write nothing."""

import os

from audioloom_manifest.publication import find_committed
from audioloom_runs.capacity import capacity_result
from audioloom_runs.cost import cost_facts
from audioloom_runs.tables import facts
from audioloom_stage.logs import bind
from audioloom_stage.result import JSON, Result

from audioloom_trainer.capacity import cost_of, lines_of
from audioloom_trainer.distributed.cluster import Cluster
from audioloom_trainer.input.sampler import allowed_replicas
from audioloom_trainer.runs.checkpoint import list_checkpoints
from audioloom_trainer.runs.layout import read_launch
from audioloom_trainer.settings import PlanSettings
from audioloom_trainer.training.spec import make_spec


def plan(settings: PlanSettings) -> Result:
    """Show what `run` would do, from the manifest of the shards."""
    spec = make_spec(settings, Cluster(), read_launch(os.environ))
    planned = spec.plan
    bind(run=planned.name)
    if settings.capacity:
        lines = lines_of(spec, settings.replicas, settings.parameters or 0)
        return capacity_result(lines, {"name": planned.name, "location": str(planned.folder)})
    train, steps = spec.train, spec.steps
    saved = [record.step for _, record in list_checkpoints(planned.folder)]
    standing = find_committed(planned)
    allowed = allowed_replicas(train.layout.lanes)
    data: dict[str, JSON] = {
        "name": planned.name,
        "location": str(planned.folder),
        "state": "committed" if standing else "started" if saved else "new",
        "model": spec.model.label,
        "records": train.layout.total,
        "shards": len(train.shards),
        "steps_per_epoch": steps,
        "steps": steps * settings.epochs,
        "steps_done": steps * settings.epochs if standing else max(saved, default=0),
    }
    shown = {key: str(value) for key, value in data.items()}
    cost = cost_of(spec, settings.replicas, settings.parameters or 0)
    return Result(
        facts({**shown, "replicas": ", ".join(map(str, allowed)), **cost_facts(cost)}),
        {
            **data,
            "replicas": allowed,
            "cost": {name: each.to_json() for name, each in cost.items()},
        },
    )
