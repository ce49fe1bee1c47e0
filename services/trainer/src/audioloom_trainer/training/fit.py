"""Training with TensorFlow in the process: strategy, model, state, session, results."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import structlog
from audioloom_manifest import FileEntry, Plan, TrainingRunStats
from audioloom_stage import progress
from numpy.typing import NDArray

from audioloom_trainer.distributed.cluster import Cluster
from audioloom_trainer.distributed.consensus import agree
from audioloom_trainer.distributed.failures import peers_watched
from audioloom_trainer.distributed.steps import spread_seeds
from audioloom_trainer.distributed.strategy import (
    describe_devices,
    local_replicas,
    make_strategy,
    versions,
)
from audioloom_trainer.evaluation.report import beside_the_mean
from audioloom_trainer.evaluation.scoring import Evaluated, Scoring, evaluated_report
from audioloom_trainer.input.batches import Replicas, steps_of
from audioloom_trainer.input.cache_folder import opened_cache
from audioloom_trainer.input.integrity import files_of
from audioloom_trainer.input.staging import Staging
from audioloom_trainer.models.build import build_model, configuration
from audioloom_trainer.models.checks import metric_names
from audioloom_trainer.models.keras_compat import library
from audioloom_trainer.models.source import ModelSource
from audioloom_trainer.models.state import restore, restore_weights, weights
from audioloom_trainer.reporting.report import report
from audioloom_trainer.runs.artifacts import Finished, write_file, write_report, write_results
from audioloom_trainer.runs.checkpoint import Saved, Saver
from audioloom_trainer.runs.exported_model import model_files
from audioloom_trainer.runs.progress import ProgressFile
from audioloom_trainer.runs.summaries import Summaries, events_of
from audioloom_trainer.runs.timeline import bottleneck, summed
from audioloom_trainer.runtime.retry import patiently
from audioloom_trainer.runtime.signals import StopRequest
from audioloom_trainer.shards.shard_set import ShardSet
from audioloom_trainer.training.callbacks import ARRAYS, Callbacks, load_callbacks
from audioloom_trainer.training.epochs import Session
from audioloom_trainer.training.schedule import Place, Schedule, needs
from audioloom_trainer.training.spec import check_replicas

__all__ = ["Outcome", "Task", "Trained", "conclude", "fit", "meet"]

log = structlog.get_logger()


@dataclass(frozen=True)
class Task:
    """What one worker is to do.

    Args:
        plan: the run.
        recipe: its digest, which checkpoints carry.
        source, arguments: the model function.
        shard_set: what is trained on.
        feature: what the features are called.
        schedule: how.
        cluster: who trains.
        launched: which run this is, as whoever started the workers calls it.
        common: what has to be equal on all workers, and goes into every line of progress.
        keep_checkpoints: how many stay.
        cache: folder for copies of shards if one was asked for, and the bytes that they may take.
        patience: seconds during which storage that does not answer is asked again.
        callbacks: their function, if one was asked for.
        callback_arguments: its arguments.
        stateless_callbacks: they may begin anew after a restart.
        legacy: the model is one of `tf_keras`.
    """

    plan: Plan
    recipe: str
    source: ModelSource
    arguments: Mapping[str, Any]
    shard_set: ShardSet
    feature: str
    schedule: Schedule
    cluster: Cluster
    launched: str
    common: Mapping[str, str | int]
    keep_checkpoints: int
    cache: tuple[str | None, int]
    patience: float
    callbacks: ModelSource | None = None
    callback_arguments: Mapping[str, Any] = field(default_factory=dict)
    stateless_callbacks: bool = False
    legacy: bool = False


@dataclass(frozen=True)
class Trained:
    """The strategy with its trained model, and what it scored."""

    strategy: Any
    replicas: Replicas
    session: Session
    evaluated: Mapping[str, Evaluated]


@dataclass(frozen=True)
class Outcome:
    """The chief's files and stats, ready to be committed."""

    files: list[FileEntry]
    stats: TrainingRunStats
    settings: dict[str, str | int | float]


def fit(task: Task, resume: Saved | None, stop: StopRequest) -> Trained:
    """Train from the start, or from a checkpoint, to the end; TensorFlow has been set up."""
    cluster, shard_set = task.cluster, task.shard_set
    events = ProgressFile(task.plan.folder, cluster.rank, {"rank": cluster.rank, **task.common})
    with events.failure_noted():
        strategy = make_strategy(cluster)
        replicas = local_replicas(strategy, cluster)
        check_replicas(shard_set.split("train"), replicas.total)
        known = {"run": task.launched}
        known |= {name: str(value) for name, value in task.common.items()}
        known["recipe and shards"] = task.recipe
        known["checkpoint"] = resume.fingerprint if resume else "-"
        agree(strategy, cluster, replicas, known | versions(), "at the start")
    place = Place.from_json(resume.commit.position) if resume else Place()
    with ExitStack() as stack:
        staging = stack.enter_context(_staging(task, replicas, place, stack))
        keep, patience = task.keep_checkpoints, task.patience
        saver = Saver(task.plan.folder, task.recipe, replicas.total, keep, patience)
        stack.callback(saver.close)
        stack.enter_context(events.failure_noted())
        # Any operation may be the one that hears of a lost peer, such as resetting the metrics.
        stack.enter_context(peers_watched(cluster, "in training"))
        model = _model(task, strategy, replicas, resume)
        callbacks = _callbacks(task, strategy, model, place, resume)
        done, every = _steps_done(task, place)
        if shard_set.class_weights is not None:
            log.info("the loss is weighted by class", weights=_shown_weights(shard_set))
        events.event("start", step=done, steps=every, devices=describe_devices())
        log.info(
            "training",
            steps=every,
            from_step=done,
            replicas=replicas.total,
            devices=describe_devices(),
            parameters=model.count_params(),
        )
        bar = stack.enter_context(progress(every, "training", "steps"))
        bar.done = done
        scoring = Scoring(
            strategy=strategy,
            model=model,
            cluster=cluster,
            replicas=replicas,
            shard_set=shard_set,
            staging=staging,
            batch=task.schedule.batch_size,
        )
        session = Session(
            scoring=scoring,
            schedule=task.schedule,
            saver=saver,
            progress=events,
            summaries=Summaries(task.plan.folder),
            bar=bar,
            stop=stop,
            place=place,
            callbacks=callbacks,
        )
        evaluated = session.run()
        saver.wait()
        return Trained(strategy, replicas, session, evaluated)


def conclude(task: Task, trained: Trained) -> Outcome:
    """Write the results of a training; the chief alone does this."""
    model, shard_set = trained.session.scoring.model, task.shard_set
    patient = partial(patiently, patience=task.patience)
    train_split = shard_set.split("train")
    evaluation = patient(partial(evaluated_report, shard_set, trained.evaluated, train=train_split))
    told = beside_the_mean(evaluation, shard_set, train=train_split)
    scores = {name: each["scores"] for name, each in told["splits"].items()}
    finished = Finished(
        weights=weights(model),
        config=configuration(model),
        history=trained.session.place.history,
        evaluation=evaluation,
    )
    train, epochs = train_split.layout.total, trained.session.place.epoch
    stats = TrainingRunStats(
        steps=epochs * steps_of(train, task.schedule.batch_size),
        records=epochs * train,
        replicas=trained.replicas.total,
        parameters=model.count_params(),
        scores=scores,
    )
    files = patient(partial(write_results, task.plan.folder, finished))
    intervals = trained.session.timeline.intervals
    shown = report(task.plan.name, _facts(task, stats), finished.history, told, intervals)
    files.append(patient(partial(write_report, task.plan.folder, shown)))
    files += patient(partial(events_of, task.plan.folder))
    made = model_files(_alone(task, model, finished.weights), task.feature, shard_set)
    files += [patient(partial(write_file, task.plan.folder, *each)) for each in made]
    settings: dict[str, str | int | float] = {
        "devices": describe_devices(),
        "workers": task.cluster.size,
        "bottleneck": bottleneck(intervals),
        "input_wait": round(summed(intervals).wait, 4) if intervals else 0.0,
    }
    return Outcome(files, stats, settings)


def _facts(task: Task, stats: TrainingRunStats) -> list[tuple[str, str]]:
    """What a page about the run begins with."""
    arguments = "".join(f" {name}={value}" for name, value in task.arguments.items())
    schedule, workers = task.schedule, task.cluster.size
    weights_text = "" if task.shard_set.class_weights is None else _shown_weights(task.shard_set)
    return [
        ("model", f"{task.source.label}{arguments}"),
        ("shards", task.plan.inputs[0].location),
        ("steps", f"{stats.steps:,} of {schedule.batch_size} records, {schedule.epochs} epochs"),
        ("replicas", f"{stats.replicas} in {workers} worker{'s' if workers > 1 else ''}"),
        ("devices", describe_devices()),
        ("parameters", f"{stats.parameters:,}"),
        ("class weights", weights_text),
    ]


def meet(task: Task, trained: Trained, what: str) -> None:
    """Wait for all workers; none may leave while another still needs it."""
    agree(trained.strategy, task.cluster, trained.replicas, {"end": what}, "at the end")
    trained.session.progress.event("done")


def _staging(task: Task, replicas: Replicas, place: Place, stack: ExitStack) -> Staging:
    cache = stack.enter_context(opened_cache(task.shard_set, *task.cache))
    if cache is not None:
        wanted = [s for split in task.shard_set.splits.values() for s in split.shards]
        names = {cache.path(s.data, ".tfrecord").name for s in wanted}
        cache.keep_only(names | {cache.path(s.index, ".npy").name for s in wanted})
    needed = needs(task.shard_set, task.schedule, replicas, place)
    others = sorted(task.shard_set.splits.keys() - {"train"})
    part = {"part": task.cluster.rank, "parts": task.cluster.size}
    early = [file for name in others for file in files_of(task.shard_set, name, **part)]
    return Staging(task.shard_set, needed, cache=cache, patience=task.patience, early=early)


def _model(task: Task, strategy: Any, replicas: Replicas, resume: Saved | None) -> Any:
    with strategy.scope():
        model = _built(task, replicas.total)
    if resume is not None:
        own = {k: v for k, v in resume.state.items() if not k.startswith(ARRAYS)}
        restore(strategy, model, own)
        log.info("resumed", step=resume.commit.step)
    spread_seeds(strategy, model, replicas)
    return model


def _built(task: Task, replicas: int) -> Any:
    return build_model(
        task.source,
        shape=task.shard_set.shape,
        classes=task.shard_set.classes,
        arguments=task.arguments,
        replicas=replicas,
        coefficients=task.shard_set.coefficients,
        legacy=task.legacy,
    )


def _alone(task: Task, model: Any, values: Mapping[str, NDArray[np.generic]]) -> Any:
    """The model for this process alone: to write one of `tf_keras` would ask all workers."""
    if not task.legacy:
        return model
    library(legacy=True).backend.reset_uids()  # the layers of both are called the same
    copy = _built(task, replicas=1)
    restore_weights(copy, values)
    return copy


def _callbacks(
    task: Task, strategy: Any, model: Any, place: Place, resume: Saved | None
) -> Callbacks:
    if task.callbacks is None:
        return Callbacks((), "")
    source, arguments = task.callbacks, task.callback_arguments
    each = load_callbacks(source, arguments, stateless=task.stateless_callbacks)
    callbacks = Callbacks(each, source.place)
    own = ["loss", *metric_names(model)]
    validated = [f"val_{name}" for name in own] if "val" in task.shard_set.splits else []
    with strategy.scope():
        callbacks.begin(model, [*own, *validated])
        if resume is not None and place.callbacks:
            callbacks.restore(place.callbacks, resume.state)
    return callbacks


def _shown_weights(shard_set: ShardSet) -> str:
    pairs = zip(shard_set.labels, shard_set.class_weights or (), strict=True)
    return " ".join(f"{label}={weight:.4g}" for label, weight in islice(pairs, 8))


def _steps_done(task: Task, place: Place) -> tuple[int, int]:
    total = task.shard_set.split("train").layout.total
    steps = steps_of(total, task.schedule.batch_size)
    return place.epoch * steps + place.step, task.schedule.epochs * steps
