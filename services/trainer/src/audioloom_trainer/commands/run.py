"""`run`: train a model on shards and commit the run.

A run that is committed already is not trained again. A training resumes from the newest
checkpoint. TensorFlow is imported only when there is something to train.
"""

import os
import shlex
import time

import structlog
from audioloom_manifest.kinds import TrainingRunManifest
from audioloom_manifest.publication import find_committed
from audioloom_manifest.reader import Opened
from audioloom_runs.scores import tell_scores
from audioloom_stage.errors import BadConfiguration
from audioloom_stage.logs import bind
from audioloom_stage.result import Result

from audioloom_trainer.capacity import cost_of
from audioloom_trainer.distributed.cluster import Cluster, read_cluster
from audioloom_trainer.input.integrity import check_files_exist
from audioloom_trainer.runs.checkpoint import newest_checkpoint
from audioloom_trainer.runs.committed_run import export_command
from audioloom_trainer.runs.layout import read_launch
from audioloom_trainer.runtime.retry import LIMIT
from audioloom_trainer.runtime.signals import StopRequest
from audioloom_trainer.settings import RunSettings
from audioloom_trainer.training.spec import check_replicas, make_spec

log = structlog.get_logger()


def run(settings: RunSettings, stop: StopRequest) -> Result:
    """Train and commit the run, unless it is committed already."""
    LIMIT.seconds, began = settings.storage_timeout, time.monotonic()
    cluster, launch = read_cluster(os.environ), read_launch(os.environ)
    if launch.folder is not None and settings.name not in (None, launch.folder.name):
        raise BadConfiguration(
            where="AUDIOLOOM_RUN_FOLDER",
            expected=f"a folder of the name {settings.name!r}, which --name gives",
            found=str(launch.folder),
        )
    spec = make_spec(settings, cluster, launch)
    bind(run=spec.plan.name, rank=cluster.rank)
    if (standing := find_committed(spec.plan)) is not None:
        log.info("already committed", manifest=str(standing.location))
        return _result(standing, cluster)

    check_replicas(spec.train, cluster.size)
    resume = None
    if cluster.is_chief:  # with every worker, storage would be asked as many times
        check_files_exist(spec.shard_set, spec.shard_set.splits)
        resume = newest_checkpoint(spec.plan.folder, spec.recipe)
        spec.cost.update(cost_of(spec, cluster.size))

    from audioloom_trainer.distributed.strategy import set_up_tensorflow  # noqa: PLC0415

    set_up_tensorflow(
        threads=settings.threads,
        deterministic=settings.deterministic,
        seed=settings.seed,
        legacy=spec.legacy,
    )
    from audioloom_trainer.training.fit import fit  # noqa: PLC0415

    committed = fit(spec, resume, stop)
    stop.finished()
    if committed is None:
        return _result(None, cluster)
    tell_scores(committed.opened, time.monotonic() - began)
    return _result(committed.opened, cluster, ours=committed.ours)


def _result(
    opened: Opened[TrainingRunManifest] | None, cluster: Cluster, *, ours: bool = False
) -> Result:
    if opened is None or not cluster.is_chief:
        return Result(text=(), data={"location": None, "rank": cluster.rank})
    manifest = opened.manifest
    return Result(
        text=str(opened.location),
        data={
            "location": str(opened.location),
            "name": manifest.name,
            "identity": manifest.identity,
            "already_committed": not ours,
            "steps": manifest.stats.steps,
            "replicas": manifest.stats.replicas,
            "scores": {name: dict(found) for name, found in manifest.stats.scores.items()},
        },
        next=(
            shlex.join(["audioloom-trainer", "inspect", str(opened.folder)]),
            export_command(opened),
        ),
    )
