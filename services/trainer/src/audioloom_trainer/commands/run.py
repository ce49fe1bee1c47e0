"""`run`: the table of contents of a training run.

Read what is asked for, look whether it is done, go on from the newest checkpoint, train, commit.
TensorFlow is imported only when there is something to train.
"""

from __future__ import annotations

import os
import shlex
import socket
from importlib.metadata import version

import structlog
from audioloom_manifest import (
    Attempt,
    Opened,
    Plan,
    Producer,
    ShardsManifest,
    TrainingRunManifest,
    commit,
    find_committed,
    read_manifest,
)
from audioloom_stage import BadConfiguration, Result, bind, redact_values
from audioloom_storage import locate

from audioloom_trainer.distributed.cluster import Cluster, read_cluster
from audioloom_trainer.input.integrity import check_presence
from audioloom_trainer.models.source import ModelSource, find_model
from audioloom_trainer.runs.checkpoint import newest
from audioloom_trainer.runs.committed_run import export_command
from audioloom_trainer.runs.layout import Launch, read_launch
from audioloom_trainer.runtime.retry import patiently
from audioloom_trainer.runtime.signals import StopRequest
from audioloom_trainer.settings import RunSettings, parse_bytes
from audioloom_trainer.shards.shard_set import open_shards
from audioloom_trainer.training.schedule import Schedule
from audioloom_trainer.training.spec import Wish, check_replicas, make_plan, recipe_digest

__all__ = ["train"]

log = structlog.get_logger()


def train(settings: RunSettings, stop: StopRequest) -> Result:
    """Train, or find that it is done.

    Args:
        settings: of the command.
        stop: tells when the process is told to end.
    """
    cluster, launch = read_cluster(os.environ), read_launch(os.environ)
    source = find_model(settings.model)
    callbacks = find_model(settings.callbacks, "--callbacks") if settings.callbacks else None
    shards = read_manifest(settings.shards, expect="shards")
    plan = _plan(settings, source, callbacks, shards, launch)
    bind(run=plan.name, rank=cluster.rank)
    if (standing := find_committed(plan)) is not None:
        log.info("already committed", manifest=str(standing.location))
        return _result(standing, cluster, ours=False)

    shard_set = open_shards(shards)
    check_replicas(shard_set.split("train"), cluster.size)
    check_presence(shard_set, shard_set.splits)
    resume = newest(plan.folder, recipe_digest(plan))

    from audioloom_trainer.distributed.strategy import set_up_tensorflow, versions  # noqa: PLC0415

    attempt_versions = {"audioloom-trainer": version("audioloom-trainer")}
    set_up_tensorflow(
        threads=settings.threads,
        deterministic=settings.deterministic,
        seed=settings.seed,
        legacy=settings.keras == "legacy",
    )
    from audioloom_trainer.training.fit import Task, conclude, fit, meet  # noqa: PLC0415

    attempt = Attempt(
        producer=Producer(stage="trainer", version=attempt_versions["audioloom-trainer"]),
        host=socket.gethostname(),
        versions=attempt_versions | versions(),
        settings=_execution_settings(settings, source, launch),
    )
    task = Task(
        plan=plan,
        recipe=recipe_digest(plan),
        source=source,
        arguments=settings.model_arg,
        shard_set=shard_set,
        feature=shards.manifest.stats.feature.name,
        schedule=_schedule(settings),
        cluster=cluster,
        launched=plan.name if launch.folder is None else launch.folder.uri,
        common={"attempt": launch.attempt, "generation": launch.generation},
        keep_checkpoints=settings.keep_checkpoints,
        callbacks=callbacks,
        callback_arguments=settings.callback_arg,
        stateless_callbacks=settings.stateless_callbacks,
        legacy=settings.keras == "legacy",
        cache=(settings.cache, parse_bytes(settings.cache_bytes)),
        patience=settings.patience_seconds,
    )
    trained = fit(task, resume, stop)
    committed = None
    with trained.session.progress.failure_noted():
        if cluster.is_chief:
            outcome = conclude(task, trained)
            attempt.settings.update(outcome.settings)
            committed = patiently(
                lambda: commit(plan, attempt, outcome.files, outcome.stats), task.patience
            )
        meet(task, trained, plan.name)
    stop.finished()
    if committed is None:
        return _silence(cluster)
    log.info("committed", manifest=str(committed.opened.location))
    return _result(committed.opened, cluster, ours=committed.ours)


def _plan(
    settings: RunSettings,
    source: ModelSource,
    callbacks: ModelSource | None,
    shards: Opened[ShardsManifest],
    launch: Launch,
) -> Plan:
    wish = Wish(
        model=source,
        arguments=settings.model_arg,
        epochs=settings.epochs,
        batch_size=settings.batch_size,
        seed=settings.seed,
        shuffle_window=settings.shuffle_window,
        deterministic=settings.deterministic,
        keras=settings.keras,
        callbacks=callbacks,
        callback_arguments=settings.callback_arg,
    )
    root = None if settings.root is None else locate(settings.root)
    if launch.folder is not None and settings.name not in (None, launch.folder.name):
        raise BadConfiguration(
            where="AUDIOLOOM_RUN_FOLDER",
            expected=f"a folder of the name {settings.name!r}, which --name gives",
            found=str(launch.folder),
        )
    return make_plan(wish, shards, root=root, name=settings.name, folder=launch.folder)


def _schedule(settings: RunSettings) -> Schedule:
    return Schedule(
        epochs=settings.epochs,
        batch_size=settings.batch_size,
        seed=settings.seed,
        shuffle_window=settings.shuffle_window,
        checkpoint_steps=settings.checkpoint_steps,
        checkpoint_minutes=settings.checkpoint_minutes,
        compare_steps=settings.compare_steps,
        allow_zero_loss=settings.allow_zero_loss,
        allow_exploding_loss=settings.allow_exploding_loss,
        watched=settings.callbacks is not None,
    )


def _execution_settings(
    settings: RunSettings, source: ModelSource, launch: Launch
) -> dict[str, object]:
    found: dict[str, object] = {
        "model": settings.model if source.module is not None else source.place,
        "threads": settings.threads,
        "checkpoint_steps": settings.checkpoint_steps,
        "checkpoint_minutes": settings.checkpoint_minutes,
        "launch_attempt": launch.attempt,
        "launch_generation": launch.generation,
    }
    return {name: redact_values(value) for name, value in found.items()}


def _silence(cluster: Cluster) -> Result:
    """Only the chief answers; the others end without a word on stdout."""
    return Result(text=(), data={"manifest": None, "rank": cluster.rank})


def _result(opened: Opened[TrainingRunManifest], cluster: Cluster, *, ours: bool) -> Result:
    if not cluster.is_chief:
        return _silence(cluster)
    manifest = opened.manifest
    return Result(
        text=str(opened.location),
        data={
            "manifest": opened.location.uri,
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
